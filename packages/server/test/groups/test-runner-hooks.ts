/**
 * Node's test runner follows every promise of the process, to find the suite that a test belongs to and the test that a stray
 * error comes from. That costs about a tenth of the processor time of a group.
 */
import asyncHooks, { type AsyncHook } from 'node:async_hooks'

/**
 * Call it before `node:test` is loaded, and `disable` when all tests are declared. A stray error then still fails the process,
 * and is printed, but without the name of its test.
 */
export function testRunnerHooks(): { disable(): void } {
  const created: AsyncHook[] = []
  const { createHook } = asyncHooks
  asyncHooks.createHook = (callbacks) => {
    const hook = createHook(callbacks)
    created.push(hook)
    return hook
  }
  return {
    disable() {
      asyncHooks.createHook = createHook
      for (const hook of created) hook.disable()
    },
  }
}
