/** Rules of faults in the world `default`, for tests. */
import assert from 'node:assert/strict'
import type { CallResult, TestApp } from './start-app.ts'

export const faults = '/control/v1/worlds/default/faults'

export const postFault = (app: TestApp, rule: object): Promise<CallResult> => app.call('POST', faults, { body: rule })

/** Creates a fault rule that must be accepted. */
export async function aFault(
  app: TestApp,
  match: object,
  effect: object,
  trigger?: object,
): Promise<{ extId: string }> {
  const made = await postFault(app, { match, effect, ...(trigger === undefined ? {} : { trigger }) })
  assert.equal(made.status, 201, JSON.stringify(made.errors))
  return made.data
}

export const readFault = async (app: TestApp, { extId }: { extId: string }): Promise<any> =>
  (await app.call('GET', `${faults}/${extId}`)).data

export async function removeFault(app: TestApp, { extId }: { extId: string }): Promise<void> {
  assert.equal((await app.call('DELETE', `${faults}/${extId}`)).status, 204)
}

export async function noFaults(app: TestApp): Promise<void> {
  assert.equal((await app.call('DELETE', faults)).status, 204)
}

export const categories = '/platform/v4.3/config/categories'

let number = 0
export const postCategory = (app: TestApp, more: Parameters<TestApp['call']>[2] = {}): Promise<CallResult> =>
  app.call('POST', categories, { body: { key: 'faults', value: String(number++) }, ...more })

/** An error that no other cause produces. */
export const unavailable = { error: 'SERVICE_UNAVAILABLE', arguments: { fault: 'Down for a test.' } }
