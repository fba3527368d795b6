/** Loaded into a service that the bench starts: answers the bench with the longest delay of the event loop. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

if (isMainThread && process.send !== undefined) {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  process.on('message', () => {
    process.send?.(delays.max / 1e6)
    delays.reset()
  })
  process.channel?.unref()
}
