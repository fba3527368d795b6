/** Requests by which suites that cover every kind reach domain managers. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import type { Creation } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
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
}
