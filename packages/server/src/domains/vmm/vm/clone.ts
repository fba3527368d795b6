/** cloneVm. Source: behaviour vmm.md 1.1 (Clone), 1.16. */
import type { Operation, ValueOf } from '@hyperplane/contract'
import { vmm } from '@hyperplane/contract/vmm'
import type { CloneOverrideParams } from '@hyperplane/contract/vmm/vm/clone'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../core/api-error.ts'
import type { TaskStarted } from '../../../core/handlers.ts'
import type { Reader } from '../../../store/store.ts'
import type { RecordContext, WriteContext } from '../../context.ts'
import { filesOf, type VmBody, type VmEntity } from '../../virtual-machines/entity.ts'
import { fault } from '../../virtual-machines/fault.ts'
import { admitVm, affectedVm, endUnchanged, requireVm, taskOf } from './admission.ts'
import { type Copies, discardVm, insertVm, makingVm, type NewVm, planning } from './create/create.ts'
import { type Blueprint, derive, deriveVm, type Overrides } from './create/derived-vm.ts'
import { withoutIso } from './guest/customization.ts'
import { settingsFrom, systemWarnings } from './guest/customize.ts'
import { overrideFaults } from './rules.ts'
import { refuseUnbuilt } from './unbuilt.ts'

export type CloneBody = ValueOf<typeof CloneOverrideParams>

interface Clone extends NewVm {
  readonly sourceExtId: string
  readonly warnings?: readonly string[]
  /** Given if other tasks come first. */
  readonly overrides?: Overrides
}

/** @throws ApiError 501 naming a field that is not built */
export function cloneFaults(body: CloneBody): ApiError[] {
  const { guestCustomization, guestCustomizationProfileConfig } = body
  if (guestCustomization !== undefined && guestCustomizationProfileConfig !== undefined) {
    return [fault('guestCustomizationProfileConfig', 'nothing beside guestCustomization', 'a profile')]
  }
  if (guestCustomizationProfileConfig !== undefined && guestCustomizationProfileConfig.profile.extId === undefined)
    return [fault('guestCustomizationProfileConfig/profile/extId', 'the id of a profile', undefined)]
  refuseUnbuilt('cloneVm', body as VmBody)
  return overrideFaults(body as VmBody)
}

export async function cloneVm(
  ctx: WriteContext<VmEntity>,
  { $objectType: _, guestCustomizationProfileConfig: profile, ...body }: CloneBody,
): Promise<TaskStarted> {
  const source = await admitVm(ctx, ctx.target)
  const { name = source.name, nics = source.nics ?? [] } = body
  const settings = profile && (await settingsFrom(ctx, profile, { name, nics: nics.length }))
  const guestCustomization = settings?.guestCustomization ?? body.guestCustomization
  const overrides = {
    ...(body as Partial<VmBody>),
    ...(guestCustomization === undefined ? {} : { guestCustomization }),
    source: { entityType: 'VM', extId: source.extId },
  } as const
  const warnings = await systemWarnings(ctx.drivers, source.extId, guestCustomization)
  const isQueued = ctx.services.runner.queueAhead(source.extId) > 0
  return deriveVm(ctx, blueprintOfVm(source), overrides, {
    task: makeClone,
    ...(settings === undefined ? {} : { internal: { guestSettings: settings.guestSettings } }),
    isPlannedAgain: isQueued,
    input: {
      sourceExtId: source.extId,
      warnings: [...warnings, ...(settings?.warnings ?? [])],
      ...(isQueued ? { overrides } : {}),
    },
    options: (vm) => ({ ...taskOf('CloneVm', vm), affected: [affectedVm(source), affectedVm(vm)] }),
  })
}

/** The VM as it is. The ISO of a staged customisation is left out, like the customisation itself. */
export function blueprintOfVm(source: VmEntity): Blueprint {
  const spec = { ...source, ...withoutIso(source) }
  const files = new Map(filesOf(spec).map((file) => [file.diskExtId, file]))
  return {
    spec,
    contentOf: (fileExtId) => {
      const file = files.get(fileExtId)
      return {
        source: { kind: 'disk', extId: fileExtId },
        sizeBytes: file?.diskSizeBytes ?? 0,
        ...(file?.storageContainer?.extId === undefined ? {} : { containerExtId: file.storageContainer.extId }),
        clusterExtIds: [source.cluster?.extId as string],
        owner: { kind: Vm, entity: source },
      }
    },
    shownAs: (diskExtId) => ({ $objectType: 'vmm.v4.ahv.config.VmDiskReference', diskExtId }),
  }
}

/** @throws ApiError 404 when an earlier task deleted the VM or one of the copied files */
export async function requireFilesOf(store: Reader, vmExtId: string, copies: NewVm['copies'] = {}): Promise<void> {
  const files = new Set(filesOf(await requireVm(store, vmExtId)).map(({ diskExtId }) => diskExtId))
  const sources = Object.values(copies).flatMap((source) => (source.kind === 'disk' ? [source.extId] : []))
  const missing = sources.filter((extId) => !files.has(extId))
  refuseAll(missing.map((id) => new ApiError('VMM_ENTITY_NOT_FOUND', { kind: 'disk', id, attribute: 'extId' })))
}

const cloning = vmm.operations.find(({ id }) => id === 'cloneVm') as Operation

/** The clone is that of the source as it is now: an earlier task may have changed it. */
async function replan(ctx: RecordContext, input: Clone): Promise<{ keep: Copies } | undefined> {
  const { vmExtId, sourceExtId, overrides } = input
  const source = await requireVm(ctx.store, sourceExtId)
  if (overrides === undefined) return undefined
  const { guestSettings } = (await ctx.store.pending(Vm, vmExtId)) as VmEntity
  await discardVm(ctx.store, vmExtId)
  const { body, ...derived } = derive(blueprintOfVm(source), overrides)
  const origin = guestSettings === undefined ? derived : { ...derived, internal: { guestSettings } }
  const { copies } = await insertVm({ ...ctx, caller: ctx.owner, operation: cloning }, body, origin, vmExtId)
  return { keep: copies }
}

export const makeClone = makingVm<Clone>('vmm.clone-vm', {
  // No undo: `onUndone` removes the row.
  plan: { name: planning, progress: 5, record: replan },
  // The end of a mutation raises the version of its VM.
  stored: async (ctx, { sourceExtId, warnings = [] }) => {
    for (const text of warnings) ctx.warn(text)
    await endUnchanged(ctx, { vmExtId: sourceExtId })
  },
  undone: (ctx, { sourceExtId }) => endUnchanged(ctx, { vmExtId: sourceExtId }),
})
