/** Builders for load balancer sessions in the VPC `prod` of the demo. */
import { seedId } from '../../src/core/ids/named-id.ts'
import type { TestApp } from './start-app.ts'

export const balancers = '/networking/v4.3/config/load-balancer-sessions'
export const demoBalancer = `${balancers}/${seedId('load-balancer-session/web-lb')}`
export const balancerStats = (path: string): string =>
  `/networking/v4.3/stats/load-balancer-sessions/${path.slice(-36)}`

export const port = (startPort: number, endPort = startPort): object => ({ startPort, endPort })
export const dynamic = { assignmentType: 'DYNAMIC', subnetReference: seedId('subnet/web') }
export const staticIp = (value: string): object => ({
  assignmentType: 'STATIC',
  ipAddress: { ipv4: { value, prefixLength: 32 } },
  subnetReference: seedId('subnet/web'),
})
export const tcp = (more: object = {}): object => ({
  protocol: 'TCP',
  portRanges: [port(80)],
  virtualIP: dynamic,
  ...more,
})
export const toNics = (...nics: readonly string[]): object => ({
  nicTargets: nics.map((virtualNicReference) => ({ virtualNicReference })),
})

export const nicOf = async (app: TestApp, vm: string): Promise<string> =>
  (await app.call('GET', `/vmm/v4.2/ahv/config/vms/${seedId(`vm/${vm}`)}`)).data.nics[0].extId

/** The targets are VMs with the category `AppTier/Web`, so that the body needs no look-up. */
export const toWebTier = (targetPort = 80): object => ({
  categoryTargets: [{ matchAll: [{ extId: seedId('category/AppTier/Web'), scope: 'VM' }], port: targetPort }],
})
export const balancerBody = (name: string, more: object = {}): object => ({
  name,
  description: '',
  vpcReference: seedId('vpc/prod'),
  listener: tcp(),
  healthCheckConfig: {},
  targetsConfig: toWebTier(),
  ...more,
})
