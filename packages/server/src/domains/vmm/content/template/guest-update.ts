/** Guest updates: a temporary VM of a version is changed and becomes another version. Source: behaviour vmm.md 1.10, 1.16. */
import type { ValueOf } from '@hyperplane/contract'
import {
  type CompleteGuestUpdateSpec,
  type InitiateGuestUpdateSpec,
  Template,
} from '@hyperplane/contract/vmm/content/template'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { defineTask, type RecordContext, type WriteContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { admitVm, affectedVm, endUnchanged, type OfVm, requireVm } from '../../vm/admission.ts'
import { makingVm, type NewVm } from '../../vm/create/create.ts'
import { deriveVm } from '../../vm/create/derived-vm.ts'
import { removalSteps } from '../../vm/delete.ts'
import { signalAndWait } from '../../vm/power/guest-power.ts'
import { recordOff, removeIso } from '../../vm/power/power.ts'
import { capturingSteps } from './capture.ts'
import { nameOfVm } from './deploy.ts'
import { callerAsUser, insertVersion } from './new-version.ts'
import {
  affectedVersion,
  type NewVersion,
  type OfTemplate,
  presentTemplate,
  removePendingVersion,
  requireVersionRoom,
  storeVersion,
  type TemplateEntity,
  templateTask,
} from './template-tasks.ts'
import { blueprintOfVersion, firstClusterOf, versionOf, withPresentParts } from './version-content.ts'

interface Initiation extends NewVm, OfTemplate {}
interface Completion extends OfVm, NewVersion {}
interface Cancellation extends OfVm, OfTemplate {}

export async function initiateUpdate(
  ctx: WriteContext<TemplateEntity>,
  body: ValueOf<typeof InitiateGuestUpdateSpec>,
): Promise<TaskStarted> {
  const { extId: templateExtId, templateName, activeVersionExtId, updatedVmExtId } = ctx.target
  if (updatedVmExtId !== undefined) {
    const fault = `A guest update of the template "${templateName}" is open, with the VM ${updatedVmExtId}. Complete or cancel it first.`
    throw new ApiError('CONFLICT', { fault })
  }
  const version = await versionOf(ctx.store, templateExtId, body.versionId ?? (activeVersionExtId as string))
  const clusterExtId = firstClusterOf(version)
  await requireClusterReachable(ctx, clusterExtId)
  const name = nameOfVm(`Template-update-os_${templateName}_${version.versionName}`, '')
  const overrides = { name, cluster: { extId: clusterExtId } }
  const blueprint = await withPresentParts(ctx.store, blueprintOfVersion(version, clusterExtId), overrides)
  const task = await deriveVm(ctx, blueprint, overrides, {
    task: openUpdate,
    input: { templateExtId },
    options: (vm) => ({
      ...templateTask('InitiateGuestChanges', 'Initiate guest changes of a template', ctx.target, [affectedVm(vm)]),
      clusterExtIds: [clusterExtId],
    }),
  })
  await ctx.store.update(Template, templateExtId, { updatedVmExtId: task.created as string })
  return { extId: task.extId }
}

const openUpdate = makingVm<Initiation>('vmm.initiate-guest-update', {
  cancelableUntil: 'never',
  stored: async (ctx, { templateExtId, vmExtId }) => {
    await presentTemplate(ctx.store, templateExtId)
    const guestUpdateStatus = { deployedVmReference: vmExtId }
    await ctx.store.update(Template, templateExtId, { guestUpdateStatus, updateTime: ctx.clock.iso() })
  },
  undone: (ctx, { templateExtId }) => closeUpdate(ctx, templateExtId),
})

async function closeUpdate(ctx: RecordContext, templateExtId: string): Promise<void> {
  if (!(await ctx.store.has(Template, templateExtId))) return
  await ctx.store.update(Template, templateExtId, { updatedVmExtId: undefined, guestUpdateStatus: undefined })
}

/** @throws ApiError 409 without a guest update whose VM has been made */
function openVm({ templateName, guestUpdateStatus }: TemplateEntity): string {
  const extId = guestUpdateStatus?.deployedVmReference
  if (extId !== undefined) return extId
  throw new ApiError('CONFLICT', { fault: `No guest update of the template "${templateName}" is open.` })
}

/** Tasks of floating IPs lock the NIC that they translate to. */
const locksOf = (templateExtId: string, { extId, nics = [] }: VmEntity): string[] => [
  templateExtId,
  extId,
  ...nics.flatMap((nic) => nic.extId ?? []),
]

export async function completeUpdate(
  ctx: WriteContext<TemplateEntity>,
  body: ValueOf<typeof CompleteGuestUpdateSpec>,
): Promise<TaskStarted> {
  const { extId: templateExtId, templateName } = ctx.target
  const vmExtId = openVm(ctx.target)
  const stored = await ctx.store.get(Vm, vmExtId)
  if (stored === undefined) {
    const fault = `The VM ${vmExtId} of the guest update of the template "${templateName}" does not exist any more. Cancel the guest update.`
    throw new ApiError('CONFLICT', { fault })
  }
  await requireVersionRoom(ctx, templateExtId)
  const vm = await admitVm(ctx, stored)
  const versionExtId = ctx.ids.uuid()
  const { isActiveVersion: isActive = true, ...named } = body
  await insertVersion(ctx, named, templateExtId, versionExtId)
  const source = { kind: 'vm', extId: vmExtId } as const
  const input = { templateExtId, vmExtId, versionExtId, source, isActive, changes: {}, updatedBy: callerAsUser(ctx) }
  const version = { extId: versionExtId, versionName: body.versionName }
  const options = templateTask('CompleteGuestChanges', 'Complete guest changes of a template', ctx.target, [
    affectedVersion(version),
  ])
  const clusterExtIds = [vm.cluster?.extId as string]
  return ctx.startTask(complete, input, { ...options, clusterExtIds, locks: locksOf(templateExtId, vm) })
}

const complete = defineTask<Completion>({
  name: 'vmm.complete-guest-update',
  pointOfNoReturn: 'power off',
  steps: [
    {
      name: 'stop',
      progress: 20,
      run: async (ctx, { templateExtId, vmExtId }) => {
        openVm(await presentTemplate(ctx.store, templateExtId))
        // Checked before the point of no return; no other task can add a version from here on.
        await requireVersionRoom(ctx, templateExtId)
        const { powerState } = await requireVm(ctx.store, vmExtId)
        return powerState === 'OFF' ? undefined : signalAndWait(ctx, vmExtId, 'shutdown')
      },
      record: async (ctx, input, output: unknown) => (output === undefined ? undefined : recordOff(ctx, input, output)),
      // No undo: the guest update stays open, and its VM stays off.
    },
    removeIso('stop', 20),
    ...capturingSteps(70),
    ...removalSteps(70, 95),
    {
      name: 'mark',
      record: async (ctx, input) => {
        await storeVersion(ctx, input)
        await closeUpdate(ctx, input.templateExtId)
      },
    },
  ],
  async onUndone(ctx, input) {
    await removePendingVersion(ctx, input)
    await endUnchanged(ctx, input)
  },
})

export async function cancelUpdate(ctx: WriteContext<TemplateEntity>): Promise<TaskStarted> {
  const { extId: templateExtId } = ctx.target
  const vmExtId = openVm(ctx.target)
  const options = templateTask('CancelGuestChanges', 'Cancel guest changes of a template', ctx.target)
  const stored = await ctx.store.get(Vm, vmExtId)
  const input = { templateExtId, vmExtId }
  if (stored === undefined) return ctx.startTask(cancelWithoutVm, input, options)
  const vm = await admitVm(ctx, stored, 'delete')
  const clusterExtIds = [vm.cluster?.extId as string]
  return ctx.startTask(cancel, input, { ...options, clusterExtIds, locks: locksOf(templateExtId, vm) })
}

const mark = {
  name: 'mark',
  record: (ctx: RecordContext, { templateExtId }: Cancellation) => closeUpdate(ctx, templateExtId),
}

const cancel = defineTask<Cancellation>({
  name: 'vmm.cancel-guest-update',
  pointOfNoReturn: 'power off',
  steps: [...removalSteps(0, 80), mark],
  onUndone: endUnchanged,
})

const cancelWithoutVm = defineTask<Cancellation>({ name: 'vmm.cancel-guest-update-without-vm', steps: [mark] })

export const guestUpdateTasks = [openUpdate, complete, cancel, cancelWithoutVm]
