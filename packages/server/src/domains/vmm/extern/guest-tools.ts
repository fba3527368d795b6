/** Operations on the guest tools of an external VM. Source: behaviour vmm.md 1.5, 1.7, 1.16. */
import { externGuestToolsOperations } from '@hyperplane/contract/vmm/extern/guest-tools-operations'
import { ExternVm } from '@hyperplane/contract/vmm/extern/vm'
import { implement, type ReadContext, type WriteContext } from '../../context.ts'
import { installFaults, rebootFaults, rebootOf } from '../guest-tools/guest-tools.ts'
import { admitExternVm, type ExternVmEntity, externVmTask } from './admission.ts'
import {
  insertIso,
  installTools,
  rebootForTools,
  rebootForToolsTask,
  requireAnswering,
  requireConnected,
  requireInsertable,
  requireInstallable,
  seenTools,
  uninstallTools,
  updateTools,
  upgradeTools,
} from './guest-tools-tasks.ts'

/** `check` runs here only if no other task comes first; the task checks again in any case. */
async function admitIf(
  ctx: WriteContext<ExternVmEntity>,
  check: (ctx: WriteContext, vm: ExternVmEntity) => void,
): Promise<ExternVmEntity> {
  if (ctx.services.runner.queueAhead(ctx.target.extId) === 0) check(ctx, ctx.target)
  return admitExternVm(ctx, ctx.target)
}

const presentTools = async (ctx: ReadContext, vms: readonly ExternVmEntity[]): Promise<readonly ExternVmEntity[]> =>
  vms.map((vm) =>
    vm.nutanixGuestTools === undefined
      ? vm
      : { ...vm, nutanixGuestTools: seenTools(ctx, vm) as ExternVmEntity['nutanixGuestTools'] },
  )

export const externGuestTools = implement(
  externGuestToolsOperations,
  {
    getNutanixGuestToolsById: async (ctx) => seenTools(ctx, ctx.target),
    async updateNutanixGuestToolsById(ctx, { body: { isEnabled = true, capabilities } }) {
      const vm = await admitIf(ctx, requireConnected)
      const input = { vmExtId: vm.extId, isEnabled, capabilities }
      return ctx.startTask(updateTools, input, externVmTask('UpdateNutanixGuestTools', vm))
    },
    async insertNutanixGuestTools(ctx, { body: { capabilities } }) {
      const vm = await admitIf(ctx, requireInsertable)
      const input = { vmExtId: vm.extId, isoExtId: ctx.ids.uuid(), capabilities }
      return ctx.startTask(insertIso, input, externVmTask('InsertNutanixGuestTools', vm))
    },
    async installNutanixGuestTools(ctx, { body }) {
      const reboot = rebootOf(body, ctx.clock.now())
      const vm = await admitIf(ctx, requireInstallable)
      const { capabilities, credential: { username = '', password = '' } = {} } = body
      const input = { vmExtId: vm.extId, isoExtId: ctx.ids.uuid(), capabilities, reboot }
      const credential = { username, password }
      return ctx.startTask(installTools, { ...input, credential }, externVmTask('InstallNutanixGuestTools', vm))
    },
    async upgradeNutanixGuestTools(ctx, { body }) {
      const reboot = rebootOf(body, ctx.clock.now())
      const vm = await admitIf(ctx, (each, of) => requireAnswering(each, of, 'upgrade'))
      return ctx.startTask(upgradeTools, { vmExtId: vm.extId, reboot }, externVmTask('UpgradeNutanixGuestTools', vm))
    },
    async uninstallNutanixGuestTools(ctx) {
      const vm = await admitIf(ctx, (each, of) => requireAnswering(each, of, 'uninstall'))
      return ctx.startTask(uninstallTools, { vmExtId: vm.extId }, externVmTask('UninstallNutanixGuestTools', vm))
    },
  },
  {
    rules: {
      installNutanixGuestTools: ({ body }) => installFaults(body),
      upgradeNutanixGuestTools: ({ body }) => rebootFaults(body),
    },
    tasks: [insertIso, installTools, upgradeTools, uninstallTools, updateTools, rebootForToolsTask],
    schedules: [rebootForTools],
    present: [[ExternVm, presentTools]],
  },
)
