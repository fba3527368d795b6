/** Virtual functions of host NICs for NICs of VMs. Source: behaviour networking.md 1.19; vmm.md 3.2. */
import { NicProfile } from '@hyperplane/contract/networking/nic-profile'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Reader } from '../../store/store.ts'
import type { VmEntity } from '../virtual-machines/entity.ts'
import { virtualFunctionOf } from '../virtual-machines/virtual-functions.ts'

export interface DividedNic {
  readonly hostNicExtId: string
  readonly profileExtId: string
  readonly free: number
}

/** A NIC of a VM that needs a virtual function of the profile. */
export interface FunctionWish {
  readonly nicExtId: string
  readonly profileExtId: string
}

export interface TakenFunction {
  readonly nicExtId: string
  readonly hostNicExtId: string
}

export const functionWishesOf = ({ nics = [] }: Pick<VmEntity, 'nics'>): readonly FunctionWish[] =>
  nics.flatMap((nic) => {
    const { profileExtId } = virtualFunctionOf(nic) ?? {}
    return profileExtId === undefined ? [] : [{ nicExtId: nic.extId!, profileExtId }]
  })

export function takeFunctions(
  nics: readonly DividedNic[],
  wishes: readonly FunctionWish[],
): readonly TakenFunction[] | undefined {
  const left = new Map(nics.map(({ hostNicExtId, free }) => [hostNicExtId, free]))
  const taken: TakenFunction[] = []
  for (const { nicExtId, profileExtId } of wishes) {
    const found = nics.find((nic) => nic.profileExtId === profileExtId && left.get(nic.hostNicExtId)! > 0)
    if (found === undefined) return undefined
    left.set(found.hostNicExtId, left.get(found.hostNicExtId)! - 1)
    taken.push({ nicExtId, hostNicExtId: found.hostNicExtId })
  }
  return taken
}

/** By host, with all functions; omits NICs without a link, and those that a task associates or disassociates. */
export async function dividedNics(
  { store, drivers }: { readonly store: Reader; readonly drivers: Pick<Drivers, 'networkFabric'> },
  hostExtIds: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly DividedNic[]>> {
  const found = new Map<string, DividedNic[]>()
  for (const { extId: profileExtId, associations = [], change } of await store.find(NicProfile))
    for (const { hostExtId, hostNicExtId } of associations) {
      if (!hostExtIds.has(hostExtId) || change?.hostNicExtId === hostNicExtId) continue
      const nic = drivers.networkFabric.hostNics(hostExtId).find(({ extId }) => extId === hostNicExtId)
      if (nic?.virtualFunctions?.profileExtId !== profileExtId || !nic.isUp) continue
      const divided = { hostNicExtId, profileExtId, free: nic.virtualFunctions.count }
      found.set(hostExtId, [...(found.get(hostExtId) ?? []), divided])
    }
  return found
}
