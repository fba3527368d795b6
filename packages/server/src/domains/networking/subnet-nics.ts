/** Source: behaviour networking.md 1.2 (listVnicsBySubnetId). */
import type { EntityOf } from '@hyperplane/contract'
import type { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { Reader } from '../../store/store.ts'

export interface SubnetNic {
  readonly extId: string
  readonly vmExtId: string
  readonly macAddress?: string
}

/** Ordered by creation of the VM, then by position in the VM. */
export async function nicsOn(store: Reader, subnetExtId: string): Promise<SubnetNic[]> {
  const machines = await store.find(Vm, { refersTo: { kind: 'Subnet', extId: subnetExtId } })
  return machines.flatMap((vm) =>
    ((vm.nics ?? []) as EntityOf<typeof Nic>[]).flatMap((nic) => {
      // The newer fields override the older ones. SR-IOV NICs have only the newer ones.
      const network = { ...nic.networkInfo, ...nic.nicNetworkInfo }
      if (network.subnet?.extId !== subnetExtId || nic.extId === undefined) return []
      const { macAddress } = { ...nic.backingInfo, ...nic.nicBackingInfo }
      return [{ extId: nic.extId, vmExtId: vm.extId, ...(macAddress === undefined ? {} : { macAddress }) }]
    }),
  )
}
