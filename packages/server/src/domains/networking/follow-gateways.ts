/** Moves router ports off failed hosts, as soon as another host is suitable. Source: behaviour networking.md 1.5. */

import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { VirtualSwitch } from '@hyperplane/contract/networking/virtual-switch'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import { DriverError, type ScheduleContext, together } from '../context.ts'
import { type Attachment, gatewayNodesFor, portsByHost, type VpcEntity } from './gateway-nodes.ts'
import { portOf } from './vpc-tasks.ts'

export const followGateways = {
  name: 'networking.follow-gateways',
  everySeconds: 5,
  watch: ({ drivers, store }: ScheduleContext, changed: () => void) =>
    together(drivers.hardware.watch(changed), store.watch([Host, VirtualSwitch, Vpc], changed)),
  async run(ctx: ScheduleContext): Promise<void | 'again'> {
    let isWaiting = false
    const carried = await portsByHost(ctx.store)
    for (const vpc of await ctx.store.find(Vpc)) {
      // The task of this VPC picks gateways itself, and its end triggers the next run.
      if (vpc.change !== undefined) continue
      const moved = await movedPorts(ctx, vpc, carried)
      if (moved.length > 0 && !(await move(ctx, vpc.extId, moved))) isWaiting = true
    }
    if (isWaiting) return 'again'
  },
}

async function movedPorts(
  ctx: ScheduleContext,
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

/** @returns false when the fabric fails; the schedule then tries again */
async function move(ctx: ScheduleContext, vpcExtId: string, moved: readonly Attachment[]): Promise<boolean> {
  try {
    for (const attachment of moved) await ctx.drivers.networkFabric.attachRouter(vpcExtId, portOf(attachment))
  } catch (error) {
    if (error instanceof DriverError) return false
    throw error
  }
  await ctx.store.transaction(async (store) => {
    const vpc = await store.get(Vpc, vpcExtId)
    if (vpc === undefined || vpc.change !== undefined) return
    const movedTo = new Map(moved.map((each) => [each.subnetReference, each.activeGatewayNodes]))
    const externalSubnets = (vpc.externalSubnets ?? []).map((each) => {
      const activeGatewayNodes = movedTo.get(each.subnetReference)
      return activeGatewayNodes === undefined ? each : { ...each, activeGatewayNodes }
    })
    // No client changed the VPC, so its ETag must stay.
    await store.observe(Vpc, vpcExtId, { externalSubnets })
  })
  return true
}
