/** Events below the interface, asked for as a test engineer does. */
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

/** With the fields that have defaults left to those. */
export type Asked = { readonly type: Happening['type'] } & Readonly<Record<string, unknown>>

export const postEvent = (app: TestApp, event: Asked | object, plan: Plan = {}): Promise<CallResult> =>
  app.call('POST', events, { body: { event, ...plan } })

/** An event that is taken; answers it. */
export async function happen(app: TestApp, event: Asked, plan: Plan = {}): Promise<any> {
  const result = await postEvent(app, event, plan)
  if (result.status !== 201) throw new Error(`${event.type}: ${result.status} ${JSON.stringify(result.errors)}`)
  return result.data
}

export const readEvent = async (app: TestApp, event: { readonly extId: string }): Promise<any> =>
  (await app.call('GET', `${events}/${event.extId}`)).data

/** The demo without its backups, which would take real seconds of every half hour that is skipped. */
export async function startQuietDemo(settings: TestSettings = {}): Promise<TestApp> {
  const app = await startApp(settings)
  const target = `${targets}/${nativeCluster}`
  const { etag } = await app.call('GET', target)
  const task = await app.task(await app.call('DELETE', target, { ifMatch: etag as string, requestId: randomUUID() }))
  if (task.status !== 'SUCCEEDED') throw new Error(JSON.stringify(task.errorMessages))
  return app
}

/** Path of the field at fault, and what is wrong with it. */
export const faultsOf = ({ errors }: CallResult): string[] =>
  errors.map(
    ({ attributePath, argumentsMap, message }) => `${attributePath ?? argumentsMap?.['attributePath']}: ${message}`,
  )
