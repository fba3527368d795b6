/** Source: behaviour networking.md 1.4 (migrateSubnets). */
import { Subnet } from '@hyperplane/contract/networking/subnet'
import { subnetMigrationOperations } from '@hyperplane/contract/networking/subnet-migration'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { isInScope } from '../../core/access/scope.ts'
import { ApiError, refuseAll } from '../../core/api-error.ts'
import { inTurn } from '../../core/tasks/in-turn.ts'
import type { PortProgram } from '../../drivers/port-stacks.ts'
import type { Reader } from '../../store/store.ts'
import type { SubnetEntity } from '../addressing/address-plan.ts'
import { requireCapability } from '../admission/cluster-capabilities.ts'
import { affected, defineTask, implement, type RecordContext, type StepContext, type WriteContext } from '../context.ts'
import { requireClusterReachable } from '../registrations/reachability.ts'
import { refuseWhileChanging } from './busy.ts'
import { refusal } from './in-use.ts'
import { invalidField } from './ip-config.ts'
import { nicsOn } from './subnet-nics.ts'

interface OfSubnet {
  readonly subnetExtId: string
}
interface OfSubnets {
  readonly subnetExtIds: readonly string[]
}

const atOnce = 4

const migrateSubnet = defineTask<OfSubnet>({
  name: 'networking.migrate-subnet',
  steps: [
    { name: 'begin', progress: 5, record: (ctx, input) => settle(ctx, input, { migrationState: 'IN_PROGRESS' }) },
    {
      name: 'move vNICs',
      progress: 80,
      seconds: [1, 1.8],
      times: async ({ store }, { subnetExtId }) => (await nicsOn(store, subnetExtId)).length,
      run: (ctx, input) => movePorts(ctx, input, true),
      undo: async (ctx, input) => {
        await movePorts(ctx, input, false)
        // Forgets vNICs that were deleted after they had moved.
        await ctx.drivers.networkFabric.switchStack(input.subnetExtId, false)
      },
    },
    {
      name: 'switch stack',
      run: ({ drivers }, { subnetExtId }) => drivers.networkFabric.switchStack(subnetExtId, true),
      undo: ({ drivers }, { subnetExtId }) => drivers.networkFabric.switchStack(subnetExtId, false),
      record: (ctx, input) =>
        settle(ctx, input, { migrationState: 'COMPLETED', isAdvancedNetworking: true, change: undefined }),
    },
  ],
  onUndone: (ctx, input) => settle(ctx, input, { migrationState: 'FAILED', change: undefined }),
})

const migrateAll = defineTask<OfSubnets>({
  name: 'networking.migrate-subnets',
  steps: [
    {
      name: 'migrate subnets',
      async run(ctx, { subnetExtIds }) {
        const ends = await inTurn(ctx, subnetExtIds, {
          atOnce,
          operation: 'kSubnetMigrate',
          progress: [0, 99],
          start: async (record, subnetExtId) => startOne(record, subnetExtId),
        })
        const failed = [...ends].filter(([, { status }]) => status !== 'SUCCEEDED')
        if (failed.length > 0)
          throw await failure(
            ctx.store,
            failed.map(([extId]) => extId),
          )
      },
    },
  ],
  /** Their subtasks never began. */
  async onUndone(ctx, { subnetExtIds }) {
    for (const { extId, change } of await ctx.store.getMany(Subnet, subnetExtIds))
      if (change?.taskExtId === ctx.taskExtId) await ctx.store.observe(Subnet, extId, { change: undefined })
  },
})

export const subnetMigration = implement(
  subnetMigrationOperations,
  {
    async migrateSubnets(ctx, { body }) {
      const chosen = await chosenSubnets(
        ctx,
        body.subnets.map(({ subnetUuid }) => subnetUuid),
      )
      const subnetExtIds = chosen.map(({ extId }) => extId)
      const task = await ctx.startTask(
        migrateAll,
        { subnetExtIds },
        {
          operation: 'kSubnetsMigrate',
          description: 'Migrate subnets to the advanced stack',
          affected: chosen.map((each) => affected(Subnet, each)),
          // The subtasks lock the subnets.
          locks: [],
          clusterExtIds: [...new Set(chosen.flatMap(({ clusterReference }) => clusterReference ?? []))],
        },
      )
      const change = { taskExtId: task.extId, verb: 'update' } as const
      for (const extId of subnetExtIds) await ctx.store.observe(Subnet, extId, { change })
      return task
    },
  },
  {
    rules: {
      migrateSubnets: ({ body: { subnets } }) =>
        subnets.flatMap(({ subnetUuid }, index) =>
          subnets.findIndex((other) => other.subnetUuid === subnetUuid) < index
            ? [invalidField(`subnets[${index}]/subnetUuid`, `expected each subnet once, found ${subnetUuid} again`)]
            : [],
        ),
    },
    tasks: [migrateSubnet, migrateAll],
  },
)

/** @throws ApiError 404, 409, 503 */
async function chosenSubnets(ctx: WriteContext, extIds: readonly string[]): Promise<readonly SubnetEntity[]> {
  const scope = await ctx.services.access.scope(ctx.caller, ctx.operation)
  const found = await ctx.store.getMany(Subnet, extIds)
  const chosen = extIds.flatMap((extId) => found.find((each) => each.extId === extId && isInScope(scope, each)) ?? [])
  const unseen = extIds.find((extId) => !chosen.some((each) => each.extId === extId))
  if (unseen !== undefined) throw new ApiError('NETWORKING_ENTITY_NOT_FOUND', { kind: 'Subnet', id: unseen })
  refuseAll(chosen.flatMap(unfit))
  for (const subnet of chosen) {
    refuseWhileChanging('Subnet', subnet)
    await requireClusterReachable(ctx, subnet.clusterReference)
    await requireCapability(ctx.store, subnet.clusterReference, 'SUPPORTS_VLAN_ADVANCED')
  }
  return chosen
}

function unfit({ name, subnetType, isExternal, isAdvancedNetworking, migrationState }: SubnetEntity): ApiError[] {
  const reason =
    subnetType === 'OVERLAY'
      ? 'is an overlay subnet'
      : isExternal === true
        ? 'is external'
        : isAdvancedNetworking === true
          ? 'is in the advanced stack already'
          : migrationState === 'IN_PROGRESS'
            ? 'is being migrated'
            : undefined
  if (reason === undefined) return []
  return [refusal(`The subnet ${name} ${reason}. Migrate VLAN subnets of the basic stack.`)]
}

async function startOne(ctx: RecordContext, subnetExtId: string): Promise<{ readonly extId: string }> {
  const { name, clusterReference } = (await ctx.store.get(Subnet, subnetExtId))!
  const task = await ctx.startTask(
    migrateSubnet,
    { subnetExtId },
    {
      operation: 'kSubnetMigrate',
      description: `Migrate subnet ${name}`,
      affected: [{ extId: subnetExtId, name, rel: Subnet.rel }],
      parent: ctx.taskExtId,
      ...(clusterReference === undefined ? {} : { clusterExtIds: [clusterReference] }),
    },
  )
  await ctx.store.observe(Subnet, subnetExtId, { change: { taskExtId: task.extId, verb: 'update' } })
  return task
}

async function settle(
  { store }: RecordContext,
  { subnetExtId }: OfSubnet,
  changes: Partial<SubnetEntity>,
): Promise<void> {
  if (!(await store.has(Subnet, subnetExtId))) return
  await (changes.isAdvancedNetworking === true
    ? store.update(Subnet, subnetExtId, changes)
    : store.observe(Subnet, subnetExtId, changes))
}

async function movePorts(ctx: StepContext, { subnetExtId }: OfSubnet, isAdvanced: boolean): Promise<void> {
  const nics = await nicsOn(ctx.store, subnetExtId)
  const machines = await ctx.store.getMany(Vm, [...new Set(nics.map(({ vmExtId }) => vmExtId))])
  const hosts = new Map(machines.map(({ extId, host }) => [extId, host?.extId]))
  for (const { extId: nicExtId, vmExtId } of nics) {
    const hostExtId = hosts.get(vmExtId)
    const port: PortProgram = { nicExtId, subnetExtId, isAdvanced, ...(hostExtId === undefined ? {} : { hostExtId }) }
    await ctx.drivers.networkFabric.movePort(port)
  }
}

async function failure(store: Reader, subnetExtIds: readonly string[]): Promise<ApiError> {
  const names = (await store.getMany(Subnet, subnetExtIds)).map(({ name }) => name)
  const text = `These subnets could not be migrated and are in the basic stack: ${names.join(', ')}. Their subtasks say why.`
  return refusal(text)
}
