/** Load balancers lose a target when its NIC is deleted. Source: behaviour networking.md 1.14. */
import type { EntityOf } from '@hyperplane/contract'
import { LoadBalancerSession } from '@hyperplane/contract/networking/load-balancer-session'
import { Nic } from '@hyperplane/contract/vmm/vm/parts/nic'
import type { Transaction } from '../../store/store.ts'
import { MacLease } from '../virtual-machines/mac-lease.ts'

type BalancerEntity = EntityOf<typeof LoadBalancerSession>

/** Call after the leases of the deleted NICs were removed. */
export async function detachTargets(
  store: Transaction,
  nics: readonly { readonly extId?: string | undefined }[],
): Promise<void> {
  for (const { extId = '' } of nics)
    for (const session of await store.find(LoadBalancerSession, { refersTo: { kind: Nic.kind, extId } }))
      await dropLostTargets(store, session)
}

export async function dropLostTargets(store: Transaction, session: BalancerEntity): Promise<void> {
  const { nicTargets = [], categoryTargets } = session.targetsConfig
  const present = []
  for (const target of nicTargets)
    if ((await store.findOne(MacLease, { nicExtId: target.virtualNicReference })) !== undefined) present.push(target)
  if (present.length === nicTargets.length) return
  const targetsConfig = {
    ...(categoryTargets && { categoryTargets }),
    ...(present.length > 0 && { nicTargets: present }),
  }
  await store.update(LoadBalancerSession, session.extId, { targetsConfig })
}
