/** Operations on the guest tools of a VM. Source: behaviour vmm.md 1.5, 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import type {
  GuestTools,
  GuestToolsInsertConfig,
  GuestToolsInstallConfig,
  GuestToolsUpgradeConfig,
} from '@hyperplane/contract/vmm/vm/guest/guest-tools'
import { guestToolsOperations } from '@hyperplane/contract/vmm/vm/guest/guest-tools-operations'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { defaultContainer } from '../../../containers/default-container.ts'
import { implement, type WriteContext } from '../../../context.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import {
  installFaults,
  rebootFaults,
  rebootOf,
  requireInsertable,
  requireNotInstalled,
  requireReachable,
} from '../../guest-tools/guest-tools.ts'
import { admitVm, taskOf } from '../admission.ts'
import { presentVms } from '../present.ts'
import {
  insertIso,
  installTools,
  requireBooted,
  requireEmptyDrive,
  uninstallTools,
  updateTools,
  upgradeTools,
} from './guest-tools-tasks.ts'
import { seenTools, toolsOf } from './tools-of.ts'
import { rebootForTools, rebootForToolsTask } from './tools-reboot.ts'

type Writing = WriteContext<VmEntity>

const isFirst = (ctx: Writing): boolean => ctx.services.runner.queueAhead(ctx.target.extId) === 0

async function isoFor(ctx: Writing, vm: VmEntity) {
  const { extId: containerExtId } = await defaultContainer(ctx.store, vm.cluster?.extId as string)
  return { fileExtId: ctx.ids.uuid(), driveExtId: ctx.ids.uuid(), containerExtId }
}

async function insert(
  ctx: Writing,
  { isConfigOnly = false, capabilities }: ValueOf<typeof GuestToolsInsertConfig>,
): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'update')
  if (isFirst(ctx)) {
    requireInsertable(await toolsOf(ctx.drivers, vm), isConfigOnly)
    requireEmptyDrive(vm)
  }
  const input = { vmExtId: vm.extId, ...(await isoFor(ctx, vm)), isConfigOnly, capabilities }
  return ctx.startTask(insertIso, input, taskOf('InsertVmGuestTools', vm))
}

async function install(
  ctx: Writing,
  { capabilities, credential, rebootPreference }: ValueOf<typeof GuestToolsInstallConfig>,
): Promise<TaskStarted> {
  const reboot = rebootOf({ rebootPreference }, ctx.clock.now())
  const vm = await admitVm(ctx, ctx.target, 'install-guest-tools')
  if (isFirst(ctx)) {
    requireNotInstalled(await toolsOf(ctx.drivers, vm))
    await requireBooted(ctx.drivers, vm)
  }
  const { username = '', password = '' } = credential ?? {}
  const input = {
    vmExtId: vm.extId,
    ...(await isoFor(ctx, vm)),
    capabilities,
    credential: { username, password },
    reboot,
  }
  return ctx.startTask(installTools, input, taskOf('InstallVmGuestTools', vm))
}

async function upgrade(ctx: Writing, body: ValueOf<typeof GuestToolsUpgradeConfig>): Promise<TaskStarted> {
  const reboot = rebootOf(body, ctx.clock.now())
  const vm = await admitVm(ctx, ctx.target, 'update')
  if (isFirst(ctx)) requireReachable(await toolsOf(ctx.drivers, vm), 'upgrade')
  return ctx.startTask(upgradeTools, { vmExtId: vm.extId, reboot }, taskOf('UpgradeVmGuestTools', vm))
}

async function uninstall(ctx: Writing): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'update')
  if (isFirst(ctx)) requireReachable(await toolsOf(ctx.drivers, vm), 'uninstall')
  return ctx.startTask(uninstallTools, { vmExtId: vm.extId }, taskOf('UninstallVmGuestTools', vm))
}

async function update(
  ctx: Writing,
  { isEnabled = true, capabilities }: ValueOf<typeof GuestTools>,
): Promise<TaskStarted> {
  const vm = await admitVm(ctx, ctx.target, 'update')
  return ctx.startTask(updateTools, { vmExtId: vm.extId, isEnabled, capabilities }, taskOf('UpdateGuestTools', vm))
}

export const guestTools = implement(
  guestToolsOperations,
  {
    async getGuestToolsById(ctx) {
      const [vm] = await presentVms(ctx, [ctx.target])
      return vm?.guestTools ?? seenTools(vm ?? ctx.target, undefined)
    },
    updateGuestToolsById: (ctx, { body }) => update(ctx, body),
    insertVmGuestTools: (ctx, { body }) => insert(ctx, body),
    installVmGuestTools: (ctx, { body }) => install(ctx, body),
    upgradeVmGuestTools: (ctx, { body }) => upgrade(ctx, body),
    uninstallVmGuestTools: (ctx) => uninstall(ctx),
  },
  {
    rules: {
      installVmGuestTools: ({ body }) => installFaults(body),
      upgradeVmGuestTools: ({ body }) => rebootFaults(body),
    },
    tasks: [insertIso, installTools, upgradeTools, uninstallTools, updateTools, rebootForToolsTask],
    schedules: [rebootForTools],
  },
)
