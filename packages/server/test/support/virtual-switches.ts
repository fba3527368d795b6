/** Builders for virtual switches, and what is on the hosts of the simulated world. */
import { seedId } from '../../src/core/ids/named-id.ts'
import { type BridgeFact, bridgeFacts, bridgeKey, bridgesOfHost } from '../../src/drivers/simulated/bridges.ts'
import type { Asked } from '../restart/asked.ts'
import { hostId, ids } from './clustermgmt.ts'
import { aNativeCluster } from './native-cluster.ts'
import { aRunningVm } from './policies.ts'
import type { TestApp } from './start-app.ts'

export const switches = '/networking/v4.3/config/virtual-switches'
export const bonds = '/networking/v4.3/config/uplink-bonds'
export const demoSwitch = (name: string): string => `${switches}/${seedId(`virtual-switch/${name}`)}`

export const demoHosts = ['a', 'b', 'c', 'd'].map((letter) => hostId(`hp-n01-${letter}`))

export const onHosts = (
  hostExtIds: readonly string[],
  hostNics: readonly string[] = [],
  more: object = {},
): object => ({
  clusters: [{ extId: ids.native, hosts: hostExtIds.map((extId) => ({ extId, hostNics, ...more })) }],
})

/** In quick mode, on three hosts of the demo. */
export const switchBody = (name: string, hostNics: readonly string[] = ['eth4'], more: object = {}): object => ({
  name,
  bondMode: 'ACTIVE_BACKUP',
  isQuickMode: true,
  ...onHosts(demoHosts.slice(0, 3), hostNics),
  ...more,
})

export const bridgesOn = (app: TestApp, hostExtId: string): string[] =>
  bridgesOfHost(app.world, hostExtId).map(({ name }) => name)

/** Path of `migrateBridge`. */
export const bridges = `${switches}/$actions/migrate`

/** Gives each host of the demo a bridge that no virtual switch has. */
export async function freeBridge(
  app: TestApp,
  name: string,
  more: Partial<BridgeFact> = {},
  hosts: readonly string[] = demoHosts,
): Promise<void> {
  for (const hostExtId of hosts) {
    const bridge = { hostExtId, name, uplinks: [], bondMode: 'NONE', mtu: 1500, vlan: 0, since: 0, ...more } as const
    await bridgeFacts(app.world).put(bridgeKey(bridge), bridge)
  }
}

/** Its hosts are emptied one after the other, because uplinks change and a VM runs on one. */
export async function emptyingHosts(app: TestApp): Promise<Asked> {
  const cluster = await aNativeCluster(app)
  await aRunningVm(app, cluster, { host: cluster.hostExtIds[0] })
  const hosts = cluster.hostExtIds.map((extId) => ({ extId, hostNics: ['eth0', 'eth1'] }))
  const body = { name: 'killed', bondMode: 'BALANCE_TCP', clusters: [{ extId: cluster.extId, hosts }] }
  return { method: 'POST', path: switches, body }
}
