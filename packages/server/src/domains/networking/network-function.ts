/** The fabric holds the health of the pairs, and which is active. Source: behaviour networking.md 1.15, 1.22. */
import { NetworkFunction, networkFunctionOperations } from '@hyperplane/contract/networking/network-function'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import type { HealthCheck } from '../../drivers/load-balancing.ts'
import type { Reader } from '../../store/store.ts'
import {
  affected,
  type Broken,
  bodyRules,
  implement,
  mayRefer,
  type ReadContext,
  type StepContext,
  type WriteContext,
} from '../context.ts'
import { rowsOf } from '../invariants/rule.ts'
import type { VmEntity } from '../virtual-machines/entity.ts'
import { lifecycle } from './lifecycle.ts'
import {
  type FunctionBody,
  type FunctionEntity,
  functionFaults,
  functionProgramOf,
  nicIdsOf,
  requireFitNics,
  vmOfPair,
} from './network-function-pairs.ts'

const defaultCheck = { intervalSecs: 5, timeoutSecs: 1, successThreshold: 3, failureThreshold: 3 } as const

const functions = lifecycle<FunctionEntity, FunctionBody, undefined>(NetworkFunction, {
  phases: [
    // A check leaves nothing to restore.
    { create: ['check NICs', 20], update: ['check NICs', 20], program: checkNics, restore: async () => undefined },
    {
      create: ['redirect traffic', 70, [0.6, 1.6]],
      update: ['redirect traffic', 70, [0.6, 1.6]],
      delete: ['stop redirecting', 100, [0.6, 1.6]],
      program: async (ctx, entity) =>
        ctx.drivers.networkFabric.programFunction(await functionProgramOf(ctx.store, entity)),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.removeFunction(extId),
    },
    {
      create: ['start health checks', 100, [0.4, 1.2]],
      update: ['configure health checks', 100, [0.4, 1.2]],
      delete: ['stop health checks', 30, [0.4, 1.2]],
      program: (ctx, entity) => ctx.drivers.networkFabric.probeFunction(entity.extId, checkOf(entity)),
      remove: (ctx, { extId }) => ctx.drivers.networkFabric.probeFunction(extId, undefined),
    },
  ],
  resolve: async () => undefined,
  async configure(ctx, { entity, stored }) {
    const isInline = entity.trafficForwardingMode !== 'VTAP'
    return {
      vmExtIds: (await machinesFor(ctx, entity, stored)).map(({ extId }) => extId),
      ...(isInline && {
        failureHandling: entity.failureHandling === 'FAIL_OPEN' ? 'FAIL_OPEN' : 'FAIL_CLOSE',
        dataPlaneHealthCheckConfig: { ...defaultCheck, ...entity.dataPlaneHealthCheckConfig },
      }),
    }
  },
  async task(ctx, entity, before) {
    const { extId, name } = entity
    const machines = await machinesFor(ctx, entity, before)
    return {
      affected: [
        // Public clients compare this spelling, others that of the kind.
        { extId, name: before?.name ?? name, rel: `N${NetworkFunction.rel.slice(1)}` },
        ...machines.map((vm) => affected(Vm, vm)),
      ],
      // Tasks that delete or change these NICs lock them, too.
      locks: [...new Set([...nicIdsOf(entity), ...(before === undefined ? [] : nicIdsOf(before))])],
    }
  },
  unique: {
    fields: ['name'],
    among: (ctx) => ctx.store.find(NetworkFunction),
    text: () => 'name',
  },
})

export const networkFunction = implement(
  networkFunctionOperations,
  {
    createNetworkFunction: functions.create,
    updateNetworkFunctionById: functions.update,
    deleteNetworkFunctionById: functions.remove,
  },
  {
    rules: bodyRules('createNetworkFunction, updateNetworkFunctionById', functionFaults),
    tasks: functions.tasks,
    present: [[NetworkFunction, presentFunctions]],
    invariants: [{ promise: 'The NICs of network functions are there, and belong to one function each', look }],
  },
)

async function checkNics(ctx: StepContext, entity: FunctionEntity, before?: FunctionEntity): Promise<void> {
  const stored = await ctx.store.get(NetworkFunction, entity.extId)
  const isCreation = stored?.change?.verb === 'create'
  await requireFitNics(
    ctx,
    entity,
    isCreation ? 'Create' : 'Update',
    new Set(before === undefined ? [] : nicIdsOf(before)),
  )
}

async function machinesOf(store: Reader, { nicPairs }: FunctionEntity): Promise<readonly VmEntity[]> {
  const machines = await Promise.all(nicPairs.map((pair) => vmOfPair(store, pair)))
  return [...new Map(machines.flatMap((vm) => (vm === undefined ? [] : [[vm.extId, vm]]))).values()]
}

/** Without invisible VMs, unless the function has them already: their NICs fail the task. */
async function machinesFor(
  ctx: WriteContext,
  entity: FunctionEntity,
  before: FunctionEntity | undefined,
): Promise<readonly VmEntity[]> {
  const machines = await machinesOf(ctx.store, entity)
  const isKnown = await Promise.all(
    machines.map(async (vm) => before?.vmExtIds?.includes(vm.extId) === true || (await mayRefer(ctx, Vm, vm))),
  )
  return machines.filter((_, index) => isKnown[index])
}

function checkOf({ dataPlaneHealthCheckConfig: check }: FunctionEntity): HealthCheck | undefined {
  if (check === undefined) return undefined
  return {
    intervalSeconds: check.intervalSecs!,
    timeoutSeconds: check.timeoutSecs!,
    successThreshold: check.successThreshold!,
    failureThreshold: check.failureThreshold!,
  }
}

async function presentFunctions(
  ctx: ReadContext,
  shown: readonly FunctionEntity[],
): Promise<readonly FunctionEntity[]> {
  return Promise.all(
    shown.map(async (entity) => ({
      ...entity,
      nicPairs: await Promise.all(entity.nicPairs.map((pair) => shownPair(ctx, entity, pair))),
    })),
  )
}

async function shownPair(
  { drivers, store }: ReadContext,
  { extId, trafficForwardingMode, vmExtIds = [] }: FunctionEntity,
  pair: FunctionEntity['nicPairs'][number],
): Promise<FunctionEntity['nicPairs'][number]> {
  const view = await drivers.networkFabric.networkFunction(extId)
  const vmReference = (await vmOfPair(store, pair))?.extId
  const ofPair = view?.pairs.find((each) => each.ingressNicExtId === pair.ingressNicReference)
  const isActive = ofPair !== undefined && view?.activeNicExtId === ofPair.ingressNicExtId
  return {
    ...pair,
    ...(vmReference !== undefined && vmExtIds.includes(vmReference) && { vmReference }),
    ...(trafficForwardingMode !== 'VTAP' && {
      dataPlaneHealthStatus: ofPair?.isHealthy === true ? 'HEALTHY' : 'UNHEALTHY',
    }),
    highAvailabilityState: isActive ? 'ACTIVE' : 'PASSIVE',
  }
}

async function* look(store: Reader): AsyncGenerator<Broken> {
  const users = new Map<string, string>()
  for await (const entity of rowsOf(store, NetworkFunction)) {
    const { extId, name } = entity
    const present = (await machinesOf(store, entity)).flatMap(({ nics = [] }) => nics.map((nic) => nic.extId))
    for (const nicExtId of nicIdsOf(entity)) {
      if (!present.includes(nicExtId))
        yield { about: [extId, nicExtId], fault: `the NIC ${nicExtId} of "${name}" is not there` }
      const other = users.get(nicExtId)
      if (other !== undefined) yield { about: [extId, other], fault: `the NIC ${nicExtId} belongs to two functions` }
      users.set(nicExtId, extId)
    }
  }
}
