/**
 * Routers move off hosts that fail or are taken out of service: within seconds another host that can carries the port. Where
 * none can, none does, until one is back. Source: behaviour networking.md 1.5.
 */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { DriverError } from '../../core/tasks/define-task.ts'
import type { ScheduleContext } from '../../core/time/schedules.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { type Attachment, gatewayNodesFor, portsByHost, type VpcEntity } from './gateway-nodes.ts'
import { portOf } from './vpc-tasks.ts'

type Following = ScheduleContext<Drivers>

export const followGateways = {
  name: 'networking.follow-gateways',
  everySeconds: 5,
  watch({ drivers, store }: Following, changed: () => void): () => void {
    const ends = [drivers.hardware.watch(changed), store.watch([Host, VirtualSwitch, Vpc], changed)]
    return () => {
      for (const end of ends) end()
    }
  },
  async run(ctx: Following): Promise<void | 'again'> {
    let isWaiting = false
    const carried = await portsByHost(ctx.store)
    for (const vpc of await ctx.store.find(Vpc)) {
      // Its task chooses hosts itself; its end is a change of the row, which brings the next look.
      if (vpc.change !== undefined) continue
      const moved = await movedPorts(ctx, vpc, carried)
      if (moved.length > 0 && !(await move(ctx, vpc.extId, moved))) isWaiting = true
    }
    if (isWaiting) return 'again'
  },
}

/** Attachments whose hosts are to be others. */
async function movedPorts(
  ctx: Following,
  { externalSubnets = [] }: VpcEntity,
  carried: Map<string, number>,
): Promise<readonly Attachment[]> {
  const moved: Attachment[] = []
  for (const attachment of externalSubnets) {
    const subnet = await ctx.store.get(Subnet, attachment.subnetReference)
    if (subnet === undefined) continue
    const activeGatewayNodes = await gatewayNodesFor(ctx, subnet, attachment, carried)
    const [now, then] = [attachment.activeGatewayNodes ?? [], activeGatewayNodes].map((nodes) =>
      nodes.map(({ nodeId }) => nodeId).join(),
    )
    if (now !== then) moved.push({ ...attachment, activeGatewayNodes })
  }
  return moved
}

/** @returns false where the fabric does not do it now */
async function move(ctx: Following, vpcExtId: string, moved: readonly Attachment[]): Promise<boolean> {
  try {
    for (const attachment of moved) await ctx.drivers.networkFabric.attachRouter(vpcExtId, portOf(attachment))
  } catch (error) {
    if (error instanceof DriverError) return false
    throw error
  }
  await ctx.store.transaction(async (store) => {
    const vpc = await store.get(Vpc, vpcExtId)
    // Who changes it meanwhile chooses anew.
    if (vpc === undefined || vpc.change !== undefined) return
    const movedTo = new Map(moved.map((each) => [each.subnetReference, each.activeGatewayNodes]))
    const externalSubnets = (vpc.externalSubnets ?? []).map((each) => {
      const activeGatewayNodes = movedTo.get(each.subnetReference)
      return activeGatewayNodes === undefined ? each : { ...each, activeGatewayNodes }
    })
    // Nobody changed the VPC: its tag stays.
    await store.observe(Vpc, vpcExtId, { externalSubnets })
  })
  return true
}
