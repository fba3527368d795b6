/** Requests of register and unregister, for the tests of platform. */

import { randomUUID } from 'node:crypto'
import { seedId } from '../../src/core/ids/named-id.ts'
import { demoRemoteLogin } from '../../src/seeds/demo/registrations.ts'
import type { CallResult, TestApp } from './start-app.ts'
import { removed } from './vpcs.ts'

export const managers = '/platform/v4.3/management/domain-managers'
export const ownPath = `${managers}/${seedId('manager')}`
export const registrations = `${ownPath}/registrations`

interface Login {
  readonly username?: string
  readonly password?: string
  readonly isManager?: boolean
}

export const tagOfManager = async (app: TestApp): Promise<string> =>
  (await app.call('GET', `/platform/v4.3/config/domain-managers/${seedId('manager')}`)).etag as string

export function registerBody(address: string | object, { isManager, ...login }: Login = {}): object {
  const remoteCluster = {
    address: typeof address === 'string' ? { ipv4: { value: address } } : address,
    credentials: { authentication: { ...demoRemoteLogin, ...login } },
  }
  return isManager === true
    ? {
        remoteCluster: {
          $objectType: 'platform.v4.management.DomainManagerRemoteClusterSpec',
          remoteCluster,
          cloudType: 'ONPREM_CLOUD',
        },
      }
    : { remoteCluster: { $objectType: 'platform.v4.management.AOSRemoteClusterSpec', remoteCluster } }
}

/** Sends the current tag of the manager and a new request id. */
export const send = async (app: TestApp, action: string, body: object, query = ''): Promise<CallResult> =>
  app.call('POST', `${ownPath}/$actions/${action}${query}`, {
    body,
    ifMatch: await tagOfManager(app),
    requestId: randomUUID(),
  })

export const register = (app: TestApp, address: string | object, login: Login = {}, query = ''): Promise<CallResult> =>
  send(app, 'register', registerBody(address, login), query)

/** The stretch of the demo, which keeps the manager `dr-site` registered. */
export const forgetStretch = (app: TestApp): Promise<void> =>
  removed(app, `/networking/v4.3/config/layer2-stretches/${seedId('layer2-stretch/web-stretch')}`)

export const unregister = (app: TestApp, reference: object, query = ''): Promise<CallResult> =>
  send(app, 'unregister', reference, query)
