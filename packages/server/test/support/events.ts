/** World events, triggered over the control interface. */
import { randomUUID } from 'node:crypto'
import type { Happening } from '@hyperplane/contract/control/world-happening'
import { nativeCluster, targets } from './backups.ts'
import { type CallResult, startApp, type TestApp, type TestSettings } from './start-app.ts'

export const events = '/control/v1/worlds/default/events'

export interface Plan {
  readonly after?: string
  readonly at?: string
  readonly duration?: string
  readonly until?: string
}

/** An event; fields with defaults are optional. */
export type Asked = { readonly type: Happening['type'] } & Readonly<Record<string, unknown>>

export const postEvent = (app: TestApp, event: Asked | object, plan: Plan = {}): Promise<CallResult> =>
  app.call('POST', events, { body: { event, ...plan } })

/** Triggers an event that must be accepted. */
export async function happen(app: TestApp, event: Asked, plan: Plan = {}): Promise<any> {
  const result = await postEvent(app, event, plan)
  if (result.status !== 201) throw new Error(`${event.type}: ${result.status} ${JSON.stringify(result.errors)}`)
  return result.data
}

export const readEvent = async (app: TestApp, event: { readonly extId: string }): Promise<any> =>
  (await app.call('GET', `${events}/${event.extId}`)).data

/** The demo without backups, which would cost real seconds for every half hour that a test skips. */
export async function startQuietDemo(settings: TestSettings = {}): Promise<TestApp> {
  const app = await startApp(settings)
  const target = `${targets}/${nativeCluster}`
  const { etag } = await app.call('GET', target)
  const task = await app.task(await app.call('DELETE', target, { ifMatch: etag as string, requestId: randomUUID() }))
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  return app
}

/** Faults as `path: message`. */
export const faultsOf = ({ errors }: CallResult): string[] =>
  errors.map(
    ({ attributePath, argumentsMap, message }) => `${attributePath ?? argumentsMap?.['attributePath']}: ${message}`,
  )
