/**
 * Keeps one object of `process.nextTick` alive, and with it the hidden class of all of them. Otherwise V8 collects that class
 * when the idle process frees memory, and from then on every tick takes a slow path: 8 µs a request.
 */
import { createHook } from 'node:async_hooks'

let tick: object | undefined
const hook = createHook({
  init(_id, type, _trigger, resource) {
    if (type === 'TickObject') tick ??= resource
  },
}).enable()
process.nextTick(() => undefined)
hook.disable()

export const tickObject: object | undefined = tick
