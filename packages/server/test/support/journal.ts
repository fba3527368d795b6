/** The journal of the world `default`, for tests: requests over the sockets, and what was kept of them. */
import assert from 'node:assert/strict'
import { type HttpOptions, type HttpResult, http } from './http.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const journal = '/control/v1/worlds/default/journal'
export const categories = '/api/platform/v4.3/config/categories'

/** Calls that match, oldest first. */
export async function callsOf(app: TestApp, filter?: string): Promise<any[]> {
  const query = filter === undefined ? '' : `&$filter=${encodeURIComponent(filter)}`
  const { status, data, errors } = await app.call('GET', `${journal}/calls?$limit=100${query}`)
  assert.equal(status, 200, JSON.stringify(errors))
  return data
}

/** What was kept of one request: the newest call after it. */
export async function recorded(
  app: TestApp,
  url: string,
  path: string,
  options: HttpOptions = {},
): Promise<{ answer: HttpResult; call: any }> {
  const answer = await http(url, path, options)
  const [call] = (await app.call('GET', `${journal}/calls?$limit=1&$orderby=${encodeURIComponent('sequence desc')}`))
    .data
  return { answer, call }
}

/** Changes the settings as they are now. */
export async function configure(app: TestApp, settings: object, options: CallOptions = {}): Promise<CallResult> {
  const { etag } = await app.call('GET', journal)
  return app.call('PUT', journal, { body: settings, ifMatch: etag ?? '', ...options })
}

export const asserted = (app: TestApp, body: object): Promise<CallResult> =>
  app.call('POST', `${journal}/$actions/assert`, { body })
