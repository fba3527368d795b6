/** The traffic mirror of the demo, after its VMs. Source: behaviour networking.md 4. */
import { TrafficMirror } from '@hyperplane/contract/networking/traffic-mirror'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { seedId } from '../../core/ids/named-id.ts'
import { mirrorProgram } from '../../domains/networking/traffic-mirror.ts'
import type { MirrorEntity } from '../../domains/networking/traffic-mirror-rules.ts'
import { mirrorFacts } from '../../drivers/simulated/traffic-mirrors.ts'
import type { SeedContext } from '../context.ts'

const daysActive = 8

export async function seedMirrorsDemo(ctx: SeedContext): Promise<void> {
  const source = (await ctx.store.get(Vm, seedId('vm/db-01')))!
  const hostExtId = source.host!.extId!
  const clusterExtId = source.cluster!.extId!
  const mirror: MirrorEntity = {
    tenantId: ctx.tenantId,
    extId: seedId('traffic-mirror/db-mirror'),
    name: 'db-mirror',
    description: 'Queries, for analysis on desktop-01',
    isEnabled: true,
    sourceList: [{ nicType: 'VIRTUAL_NIC', nicUuid: seedId('nic/db-01/0'), direction: 'BIDIRECTIONAL' }],
    destinationList: [{ nicType: 'VIRTUAL_NIC', nicUuid: seedId('nic/desktop-01/1') }],
    hostReferenceList: [hostExtId],
    clusterReferenceList: [clusterExtId],
    virtualSwitchReference: seedId('virtual-switch/vs0'),
    ...{ hostExtId, clusterExtId },
    metadata: { ownerReferenceId: ctx.adminId, ownerUserName: 'admin' },
    createdAt: ctx.ago(daysActive * 24 * 3600),
  }
  await ctx.store.insert(TrafficMirror, mirror)
  await mirrorFacts(ctx.world).put(mirror.extId, mirrorProgram(mirror))
}
