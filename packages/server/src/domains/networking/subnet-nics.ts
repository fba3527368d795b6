/** NICs on a subnet, read from the virtual machines that name it. Source: behaviour networking.md 1.2 (listVnicsBySubnetId). */
import type { EntityOf } from '@hyperplane/contract'
import type { Nic } from '@hyperplane/contract/vmm/nic'
import { Vm } from '@hyperplane/contract/vmm/vm'
import type { Reader } from '../../store/store.ts'

export interface SubnetNic {
  readonly extId: string
  readonly vmExtId: string
  readonly macAddress?: string
}

/** In the order of the machines' creation, then of their NICs. */
export async function nicsOn(store: Reader, subnetExtId: string): Promise<SubnetNic[]> {
  const machines = await store.find(Vm, { refersTo: { kind: 'Subnet', extId: subnetExtId } })
  return machines.flatMap((vm) =>
    ((vm.nics ?? []) as EntityOf<typeof Nic>[]).flatMap((nic) => {
      // The newer pair of fields wins where both are there, and SR-IOV has the newer alone.
      const network = { ...nic.networkInfo, ...nic.nicNetworkInfo }
      if (network.subnet?.extId !== subnetExtId || nic.extId === undefined) return []
      const { macAddress } = { ...nic.backingInfo, ...nic.nicBackingInfo }
      return [{ extId: nic.extId, vmExtId: vm.extId, ...(macAddress === undefined ? {} : { macAddress }) }]
    }),
  )
}
