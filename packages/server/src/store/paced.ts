/** Yields to the event loop during work of seconds in a store that nobody else uses yet. */
import type { Transaction } from './store.ts'

const turnMilliseconds = 5

export function paced(
  transaction: Transaction,
  now = (): number => performance.now(),
  turn = (): Promise<unknown> => new Promise(setImmediate),
): Transaction {
  let began = now()
  const pause = async (): Promise<void> => {
    if (now() - began < turnMilliseconds) return
    await turn()
    began = now()
  }
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
  (pause: () => Promise<void>, call: Call): Call =>
  async (...given) => {
    await pause()
    return call(...given)
  }
