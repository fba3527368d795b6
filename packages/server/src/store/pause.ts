const turnMilliseconds = 5

/** For long work: call between its parts. @returns a promise only when the event loop has waited for 5 ms, until it had a turn */
export function createPause(
  now = (): number => performance.now(),
  turn = (): Promise<unknown> => new Promise(setImmediate),
): () => Promise<void> | undefined {
  let began = now()
  return () => {
    if (now() - began < turnMilliseconds) return undefined
    return turn().then(() => {
      began = now()
    })
  }
}
