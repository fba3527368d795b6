/** VMs and NICs in network functions cannot change. Source: behaviour networking.md 1.15; vmm.md 1.1. */
import { NetworkFunction } from '@hyperplane/contract/networking/network-function'
import { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../core/api-error.ts'
import type { Reader } from '../../store/store.ts'

/** @throws ApiError 409 while a network function has a pair in the VM */
export async function requireNoFunctionOfVm(store: Reader, vm: { readonly extId: string; readonly name: string }) {
  await requireNone(store, { kind: Vm.kind, extId: vm.extId }, { kind: 'VM', name: vm.name })
}

/** @throws ApiError 409 while a network function has one of the NICs in a pair */
export async function requireNoFunctionOfNics(store: Reader, nics: readonly { readonly extId?: string | undefined }[]) {
  for (const { extId = '' } of nics) await requireNone(store, { kind: Nic.kind, extId }, { kind: 'NIC', name: extId })
}

async function requireNone(
  store: Reader,
  refersTo: { readonly kind: string; readonly extId: string },
  about: { readonly kind: string; readonly name: string },
): Promise<void> {
  const [user] = await store.find(NetworkFunction, { refersTo, limit: 1 })
  if (user === undefined) return
  throw new ApiError('VMM_ENTITY_IN_USE', { ...about, users: `the network function "${user.name}"` })
}
