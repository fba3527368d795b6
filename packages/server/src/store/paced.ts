/** Yields to the event loop during seconds of work in a store that has no other users yet. */
import { createPause } from './pause.ts'
import type { Transaction } from './store.ts'

export function paced(transaction: Transaction, ...clock: Parameters<typeof createPause>): Transaction {
  const pause = createPause(...clock)
  const pausing = new Set<string | symbol>(['insert', 'replace', 'update', 'observe', 'publish', 'remove', 'find'])
  const methods = new Map<string | symbol, unknown>()
  return new Proxy(transaction, {
    get(target, name) {
      let method = methods.get(name)
      if (method === undefined) {
        const own: unknown = Reflect.get(target, name, target)
        method = typeof own === 'function' ? own.bind(target) : own
        if (pausing.has(name) && typeof method === 'function') method = afterPause(pause, method as Call)
        methods.set(name, method)
      }
      return method
    },
  })
}

type Call = (...given: unknown[]) => Promise<unknown>

const afterPause =
  (pause: () => Promise<void> | undefined, call: Call): Call =>
  async (...given) => {
    await pause()
    return call(...given)
  }
