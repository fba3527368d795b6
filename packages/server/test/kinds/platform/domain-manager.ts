/** Requests by which suites that cover every kind reach domain managers. */

import { seedId } from '../../../src/core/ids/named-id.ts'
import { lab } from '../../../src/seeds/demo/registrations.ts'
import { type Asked, completed, requestOf, tagged } from '../../restart/asked.ts'
import { ownPath, registerBody } from '../../support/registering.ts'
import type { TestApp } from '../../support/start-app.ts'
import type { Creation, FieldBase, RestartScenario } from '../kind.ts'

const manager = `/platform/v4.3/config/domain-managers/${seedId('manager')}`
/** An action of this manager, with its tag. */
const ofManager = (app: TestApp, action: string, body: object): Promise<Asked> =>
  tagged(app, 'POST', `${ownPath}/$actions/${action}`, body, manager)
const deployment: RestartScenario = async () => requestOf(creations['platform.createDomainManager'])

export const creations = {
  'platform.createDomainManager': {
    path: '/platform/v4.3/config/domain-managers',
    body: (name) => ({
      config: { name, size: 'STARTER', buildInfo: { version: '0.1.0' } },
      network: {
        nameServers: [{ ipv4: { value: '10.44.1.2' } }],
        ntpServers: [{ fqdn: { value: 'ntp.example.com' } }],
        externalNetworks: [
          {
            networkExtId: seedId('subnet/vlan-100-app'),
            defaultGateway: { ipv4: { value: '10.10.100.1' } },
            subnetMask: { ipv4: { value: '255.255.255.0' } },
            ipRanges: [{ begin: { ipv4: { value: '10.10.100.210' } }, end: { ipv4: { value: '10.10.100.250' } } }],
          },
        ],
      },
    }),
  },
} satisfies Record<string, Creation>

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'platform.register': [
    async () => ({
      path: `${ownPath}/$actions/register`,
      readPath: `/platform/v4.3/config/domain-managers/${seedId('manager')}`,
      body: registerBody('10.44.99.99'),
    }),
  ],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'platform.create-manager-nodes': deployment,
  'platform.deploy-domain-manager': deployment,
  'platform.fetch-manager-software': deployment,
  'platform.register-remote': (app) => ofManager(app, 'register', registerBody(lab.address)),
  'platform.unregister-remote': async (app) => {
    const asked = await ofManager(app, 'register', registerBody(lab.address))
    await completed(app, asked.method, asked.path, { body: asked.body, ifMatch: asked.ifMatch as string })
    return ofManager(app, 'unregister', { extId: seedId(`cluster/${lab.name}`) })
  },
}
