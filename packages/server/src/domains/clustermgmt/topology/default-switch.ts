/** The virtual switch that a new cluster of native hosts has. Source: behaviour networking.md 1.18. */
import { derivedId } from '../../../core/ids/named-id.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { SwitchRow } from '../../scheduling/switch-bridges.ts'

interface NewSwitch {
  readonly tenantId: string | undefined
  readonly clusterExtId: string
  readonly nodeUuids: readonly string[]
  readonly owner: { readonly extId: string; readonly name: string }
}

const uplinksOfSwitch = 2

/** Its uplinks are the first NICs with a link. */
export function defaultSwitch(
  { networkFabric }: Pick<Drivers, 'networkFabric'>,
  { tenantId, clusterExtId, nodeUuids, owner }: NewSwitch,
): SwitchRow {
  const hosts = nodeUuids.map((extId) => {
    const nics = networkFabric.hostNics(extId).filter(({ isUp }) => isUp)
    const hostNics = nics.slice(0, uplinksOfSwitch).map(({ name }) => name)
    return { extId, internalBridgeName: 'br0', hostNics, ...(hostNics[0] && { activeUplink: hostNics[0] }) }
  })
  return {
    extId: derivedId('virtual-switch', clusterExtId, 'vs0'),
    tenantId,
    metadata: { ownerReferenceId: owner.extId, ownerUserName: owner.name },
    name: 'vs0',
    bondMode: 'ACTIVE_BACKUP',
    clusters: [{ extId: clusterExtId, hosts }],
    clusterExtId,
    uplinks: hosts.flatMap(({ extId, hostNics }) => hostNics.map((nic) => `${extId}/${nic}`)),
    mtu: 1500,
    igmpSpec: { isSnoopingEnabled: false, snoopingTimeout: 300 },
    isQuickMode: false,
    isDefault: true,
    ownerType: 'PC',
    hasUpdateInProgress: false,
    hasDeleteInProgress: false,
    hasDeploymentError: false,
  }
}
