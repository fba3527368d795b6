/**
 * Appliances leave failed hosts (restart) and hosts in maintenance (migration); one without power starts again, on its host if possible.
 * Source: behaviour networking.md 1.9 (status).
 */
import { Host } from '@hyperplane/contract/clustermgmt/host'
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { startingTasks } from '../../../core/time/schedules.ts'
import {
  DriverError,
  defineTask,
  type RecordContext,
  type Schedule,
  type ScheduleContext,
  type StepContext,
  together,
} from '../../context.ts'
import { closedBecause } from '../../scheduling/host-state.ts'
import { holdNode, releaseManagerNodes } from '../../scheduling/manager-nodes.ts'
import { allocationsOf, releaseReservation } from '../../scheduling/scheduler.ts'
import { applianceOf, applianceSize, clusterOfGateway, hostFor, hostOfGateway } from './appliance.ts'
import { type GatewayEntity, storedOf } from './entity.ts'

interface Leaving {
  readonly extId: string
  readonly fromHostExtId: string
}
interface Recovered extends Leaving {
  /** It runs on a host that answers, but is in maintenance. */
  readonly isMovable: boolean
  /** It is without power on a host that runs guests, which starts it again. */
  readonly staysOnHost: boolean
}

export const moveGateways: Schedule = {
  name: 'networking.move-gateways',
  everySeconds: 5,
  watch: ({ drivers, store }, changed) =>
    together(drivers.hardware.watch(changed), store.watch([Host, Gateway], changed)),
  async run(ctx) {
    let isWaiting = false
    for (const gateway of await ctx.store.find(Gateway)) {
      const leaving = await leavingOf(ctx, gateway)
      if (leaving !== undefined && !(await accept(ctx, leaving))) isWaiting = true
    }
    if (isWaiting) return 'again'
  },
}

/** Undefined: the appliance runs on a host on which it may stay. */
async function leavingOf(
  { drivers: { hardware, networkFabric }, store }: ScheduleContext,
  gateway: GatewayEntity,
): Promise<Recovered | undefined> {
  const { change, extId, vmReference } = gateway
  if (vmReference === undefined || change !== undefined || !hardware.isReachable(clusterOfGateway(gateway)))
    return undefined
  const host = await store.get(Host, (await hostOfGateway(store, gateway)) ?? '')
  if (host === undefined) return undefined
  const isUp = hardware.isHostUp(host.extId)
  const isOff = (await networkFabric.gateway(extId))?.isOff === true
  const isOpen = closedBecause(host, isUp) === undefined
  if (!isOff && isOpen) return undefined
  return { extId, fromHostExtId: host.extId, isMovable: isUp && !isOff, staysOnHost: isOpen }
}

/** @returns false when it has to wait for a task of the gateway, or for room on another host */
async function accept(ctx: ScheduleContext, { isMovable, staysOnHost, ...leaving }: Recovered): Promise<boolean> {
  const { extId, fromHostExtId } = leaving
  if (ctx.runner.queueLength(extId) > 0) return false
  let isAccepted = false
  await startingTasks(ctx, async (store, startTask) => {
    const gateway = await store.get(Gateway, extId)
    if (gateway === undefined || gateway.change !== undefined) return
    if (!staysOnHost && 'reasons' in (await hostFor({ ...ctx, store }, gateway, [fromHostExtId]))) return
    await startTask(isMovable ? migrateGateway : recoverGateway, leaving, {
      operation: isMovable ? 'kGatewayMigrate' : 'kGatewayRecover',
      description: `${isMovable ? 'Migrate' : 'Recover'} gateway ${gateway.name}`,
      affected: [{ extId, name: gateway.name, rel: Gateway.rel }],
      clusterExtIds: [clusterOfGateway(gateway)],
      locks: [extId],
      background: true,
    })
    isAccepted = true
  })
  return isAccepted
}

const observe = async (
  { store }: RecordContext,
  { extId }: Leaving,
  recovery: GatewayEntity['recovery'],
): Promise<void> => void (await store.observe(Gateway, extId, { recovery }))

async function runsGuests({ drivers, store }: RecordContext, hostExtId: string): Promise<boolean> {
  const host = await store.get(Host, hostExtId)
  return host !== undefined && closedBecause(host, drivers.hardware.isHostUp(hostExtId)) === undefined
}

/** @returns the host @throws DriverError when none has room */
async function reserveOtherHost(ctx: RecordContext, gateway: GatewayEntity, taken: readonly string[]): Promise<string> {
  const choice = await hostFor(ctx, gateway, taken)
  if ('reasons' in choice) throw DriverError.retryable(`no host can run the gateway ${gateway.name}`)
  const { hostExtId } = choice
  const held = { extId: applianceOf(gateway), hostExtId, clusterExtId: clusterOfGateway(gateway) }
  await holdNode(ctx.store, held, applianceSize)
  return hostExtId
}

const elsewhere = async ({ store }: Pick<StepContext, 'store'>, gateway: GatewayEntity, { fromHostExtId }: Leaving) =>
  (await allocationsOf(store, applianceOf(gateway))).find(({ hostExtId }) => hostExtId !== fromHostExtId)?.hostExtId

async function releaseOtherHost(ctx: RecordContext, input: Leaving): Promise<void> {
  const gateway = await storedOf(ctx, input)
  const host = await elsewhere(ctx, gateway, input)
  if (host !== undefined) await releaseReservation(ctx.store, applianceOf(gateway), host)
}

export const migrateGateway = defineTask<Leaving>({
  name: 'networking.migrate-gateway',
  steps: [
    {
      name: 'reserve',
      progress: 10,
      record: async (ctx, input) =>
        void (await reserveOtherHost(ctx, await storedOf(ctx, input), [input.fromHostExtId])),
      unrecord: releaseOtherHost,
    },
    {
      name: 'move',
      isIrreversible: true,
      run: async (ctx, input) => {
        const gateway = await storedOf(ctx, input)
        await ctx.drivers.hypervisor.migrateVm(applianceOf(gateway), (await elsewhere(ctx, gateway, input)) as string)
      },
      record: async (ctx, input) =>
        releaseReservation(ctx.store, applianceOf(await storedOf(ctx, input)), input.fromHostExtId),
    },
  ],
})

export const recoverGateway = defineTask<Leaving>({
  name: 'networking.recover-gateway',
  pointOfNoReturn: 'fence',
  steps: [
    {
      name: 'reserve',
      progress: 10,
      record: async (ctx, input) => {
        if (!(await runsGuests(ctx, input.fromHostExtId)))
          await reserveOtherHost(ctx, await storedOf(ctx, input), [input.fromHostExtId])
        await observe(ctx, input, 'RECOVERY_STARTED')
      },
      unrecord: releaseOtherHost,
    },
    {
      name: 'fence',
      progress: 30,
      seconds: [3, 8],
      /** @returns whether the appliance is without power now: the host may have come back with it */
      run: async (ctx, input): Promise<boolean> => {
        const vmExtId = applianceOf(await storedOf(ctx, input))
        const isFenced = (await ctx.drivers.hypervisor.fenceVm(vmExtId, input.fromHostExtId)) !== undefined
        return isFenced || (await ctx.drivers.networkFabric.gateway(input.extId))?.isOff === true
      },
      record: async (ctx, input, isOff) => {
        if (isOff !== true) return releaseOtherHost(ctx, input)
        const gateway = await storedOf(ctx, input)
        const isHeldElsewhere = (await elsewhere(ctx, gateway, input)) !== undefined
        if (isHeldElsewhere) await releaseReservation(ctx.store, applianceOf(gateway), input.fromHostExtId)
        await observe(ctx, input, 'RECOVERY_IN_PROGRESS')
      },
    },
    {
      name: 'restart',
      progress: 90,
      seconds: [3, 8],
      run: async (ctx, input) => {
        if (ctx.outputs['fence'] === true) await restart(ctx, await storedOf(ctx, input))
      },
      record: async (ctx, input) => observe(ctx, input, 'RECOVERY_COMPLETED'),
    },
    { name: 'confirm', seconds: [2, 4], record: async (ctx, input) => observe(ctx, input, undefined) },
  ],
})

/** Runs again until the appliance answers, on another host if the chosen one fails as well. */
async function restart(ctx: StepContext, gateway: GatewayEntity): Promise<void> {
  const { hypervisor, networkFabric } = ctx.drivers
  const vmExtId = applianceOf(gateway)
  let host = (await hostOfGateway(ctx.store, gateway)) as string
  if (!ctx.drivers.hardware.isHostUp(host)) {
    await hypervisor.fenceVm(vmExtId, host)
    await ctx.checkpoint(undefined, async (record) => {
      await releaseManagerNodes(record.store, [vmExtId])
      host = await reserveOtherHost(record, gateway, [])
    })
  }
  await hypervisor.startVm(vmExtId, host)
  await networkFabric.awaitAgent(gateway.extId, vmExtId)
}
