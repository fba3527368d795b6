/** Source: behaviour networking.md 1.20. */
import type { EntityOf } from '@hyperplane/contract'
import { VpcVirtualSwitchMapping } from '@hyperplane/contract/networking/vpc-virtual-switch-mapping'
import type { Reader } from '../../store/store.ts'

export type MappingEntity = EntityOf<typeof VpcVirtualSwitchMapping>

/** Mappings in force, by cluster; other clusters use their default switch. */
export async function overlaySwitches(store: Reader): Promise<ReadonlyMap<string, string>> {
  const inForce = (await store.find(VpcVirtualSwitchMapping)).filter(({ change }) => change?.verb !== 'create')
  return new Map(inForce.map(({ clusterExtId, virtualSwitchUuid }) => [clusterExtId!, virtualSwitchUuid]))
}

/** @returns the switch that a host needs for overlay NICs; undefined: the default one, which is on every host */
export const overlaySwitchOf = async (store: Reader, clusterExtId: string | undefined): Promise<string | undefined> =>
  clusterExtId === undefined ? undefined : (await overlaySwitches(store)).get(clusterExtId)
