/** A failed upgrade boots the old image. Source: behaviour networking.md 1.9, 1.22. */
import { Gateway } from '@hyperplane/contract/networking/gateway'
import { Vpc } from '@hyperplane/contract/networking/vpc'
import type { TaskStarted } from '../../../core/handlers.ts'
import { affected, defineTask, type StepContext, type WriteContext } from '../../context.ts'
import { requireClusterReachable } from '../../registrations/reachability.ts'
import { refuseWhileChanging } from '../busy.ts'
import { refusal } from '../in-use.ts'
import { invalidField } from '../ip-config.ts'
import {
  applianceDiskId,
  applianceDomain,
  applianceOf,
  clusterOfGateway,
  createDisk,
  fenceOnSilentHost,
} from './appliance.ts'
import { type GatewayEntity, localOf, storedOf, vpcOf } from './entity.ts'
import { statusOf } from './view.ts'

interface Upgrade {
  readonly extId: string
  readonly version: string
}

export async function upgrade(ctx: WriteContext<GatewayEntity>): Promise<TaskStarted> {
  const gateway = ctx.target
  const { extId, name, installedSoftwareVersion: installed = '', supportedSoftwareVersion: version = '' } = gateway
  if (localOf(gateway) === undefined) throw invalidField('extId', `expected a local gateway; ${name} is remote`)
  await requireClusterReachable(ctx, clusterOfGateway(gateway))
  refuseWhileChanging('Gateway', gateway)
  const { state, message } = await statusOf(ctx, gateway)
  if (state !== 'UP') throw refusal(`The gateway ${name} is ${state}: ${message}. Retry when it is UP.`)
  if (installed.localeCompare(version, 'en', { numeric: true }) >= 0)
    throw refusal(`The gateway ${name} is already at ${installed}.`)
  const vpc = await ctx.store.get(Vpc, vpcOf(gateway) ?? '')
  const task = await ctx.startTask(
    upgradeGateway,
    { extId, version },
    {
      operation: 'kGatewayUpgrade',
      description: `Upgrade gateway ${name}`,
      affected: [affected(Gateway, gateway), ...(vpc === undefined ? [] : [affected(Vpc, vpc)])],
      clusterExtIds: [clusterOfGateway(gateway)],
      locks: [extId],
    },
  )
  await ctx.store.update(Gateway, extId, { change: { taskExtId: task.extId, verb: 'upgrade' } })
  return task
}

const upgraded = (gateway: GatewayEntity, { version }: Upgrade): GatewayEntity => ({
  ...gateway,
  installedSoftwareVersion: version,
})

export const upgradeGateway = defineTask<Upgrade>({
  name: 'networking.upgrade-gateway',
  pointOfNoReturn: 'delete old image',
  steps: [
    {
      name: 'copy image',
      progress: 40,
      seconds: [80, 105],
      run: async (ctx, input) => createDisk(ctx, upgraded(await storedOf(ctx, input), input)),
      undo: async (ctx, input) =>
        ctx.drivers.hypervisor.deleteDisk(applianceDiskId(applianceOf(await storedOf(ctx, input)), input.version)),
    },
    {
      name: 'boot new image',
      progress: 50,
      seconds: [1, 3],
      run: async (ctx, input) => boot(ctx, upgraded(await storedOf(ctx, input), input), ctx.callKey),
      undo: async (ctx, input) => boot(ctx, await storedOf(ctx, input), `${ctx.callKey} undone`),
    },
    {
      name: 'wait for its agent',
      progress: 70,
      run: async (ctx, input) =>
        ctx.drivers.networkFabric.awaitAgent(input.extId, applianceOf(await storedOf(ctx, input))),
    },
    {
      name: 'check service',
      progress: 90,
      seconds: [25, 40],
      // The appliance runs the service from its start on; this step only takes time.
    },
    {
      name: 'delete old image',
      seconds: [2, 5],
      run: async (ctx, input) => {
        const gateway = await storedOf(ctx, input)
        const disk = applianceDiskId(applianceOf(gateway), gateway.installedSoftwareVersion as string)
        await ctx.drivers.hypervisor.deleteDisk(disk)
      },
      record: async (ctx, { extId, version }) =>
        void (await ctx.store.update(Gateway, extId, { installedSoftwareVersion: version, change: undefined })),
    },
  ],
  onUndone: async (ctx, { extId }) => void (await ctx.store.update(Gateway, extId, { change: undefined })),
})

async function boot(ctx: StepContext, gateway: GatewayEntity, callKey: string): Promise<void> {
  await fenceOnSilentHost(ctx, gateway)
  await ctx.drivers.hypervisor.defineVm(await applianceDomain(ctx.store, gateway))
  await ctx.drivers.hypervisor.resetVm(applianceOf(gateway), callKey)
}
