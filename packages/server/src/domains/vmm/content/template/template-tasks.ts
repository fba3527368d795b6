/** Tasks that change a template and its versions. Source: behaviour vmm.md 1.0, 1.10, 1.16. */
import type { EntityOf } from '@hyperplane/contract'
import { Category } from '@hyperplane/contract/platform/category'
import { Template, TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { ApiError } from '../../../../core/api-error.ts'
import { rowWithId } from '../../../../core/standard.ts'
import type { Services } from '../../../../core/world.ts'
import type { Reader } from '../../../../store/store.ts'
import { type AffectedEntity, defineTask, type RecordContext, type Step, type TaskOptions } from '../../../context.ts'
import { limit, limitOf } from '../../../limits.ts'
import { type Capture, capturingSteps } from './capture.ts'
import { type VersionEntity, versionOf, versionsOf } from './version-content.ts'

export type TemplateEntity = EntityOf<typeof Template>
type TemplateUser = NonNullable<TemplateEntity['updatedBy']>

export const maximumVersions = limit('versionsOfTemplate', 100)

export interface OfTemplate {
  readonly templateExtId: string
}
export interface OfVersion extends OfTemplate {
  readonly versionExtId: string
}

export const affectedTemplate = ({ extId, templateName }: TemplateEntity): AffectedEntity => ({
  extId,
  name: templateName,
  rel: Template.rel,
})
export const affectedVersion = ({ extId, versionName }: VersionEntity): AffectedEntity => ({
  extId,
  ...(versionName === undefined ? {} : { name: versionName }),
  rel: TemplateVersion.rel,
})

/** Options of every template task: `('Publish', 'Publish template', ...)`. */
export const templateTask = (
  operation: string,
  description: string,
  template: TemplateEntity,
  others: readonly AffectedEntity[] = [],
): TaskOptions => ({
  operation: `kVmTemplate${operation}`,
  description,
  affected: [affectedTemplate(template), ...others],
})

/** @throws ApiError 404 when an earlier task in the queue deleted the template */
export async function presentTemplate(store: Reader, templateExtId: string): Promise<TemplateEntity> {
  return rowWithId(store, Template, templateExtId)
}

export async function requireVersionRoom(
  ctx: { readonly store: Reader; readonly services: Pick<Services, 'limits'> },
  templateExtId: string,
): Promise<void> {
  const found = (await versionsOf(ctx.store, templateExtId)).length + 1
  const maximum = limitOf(ctx, maximumVersions)
  if (found > maximum) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'Versions of the template', maximum, found })
}

export const createTemplate = defineTask<Capture>({
  name: 'vmm.create-template',
  steps: [
    ...capturingSteps(90),
    {
      name: 'store',
      record: async (ctx, { templateExtId, versionExtId }) => {
        await ctx.store.publish(TemplateVersion, versionExtId)
        await ctx.store.publish(Template, templateExtId)
      },
    },
  ],
  async onUndone(ctx, { templateExtId, versionExtId }) {
    await ctx.store.remove(TemplateVersion, versionExtId)
    await ctx.store.remove(Template, templateExtId)
  },
})

export interface Update extends OfTemplate {
  readonly changes: Partial<TemplateEntity>
  readonly updatedBy: TemplateUser
}

export interface NewVersion extends Update, Capture {
  readonly isActive: boolean
}

async function storeUpdate(ctx: RecordContext, { templateExtId, changes, updatedBy }: Update): Promise<void> {
  const { activeVersionExtId } = await presentTemplate(ctx.store, templateExtId)
  // A category may have been deleted while the task was queued.
  const wanted = changes.categoryExtIds ?? []
  const found = new Set((await ctx.store.getMany(Category, wanted)).map(({ extId }) => extId))
  const missing = wanted.findIndex((extId) => !found.has(extId))
  if (missing >= 0)
    throw new ApiError('VMM_ENTITY_NOT_FOUND', {
      kind: Category.title,
      id: wanted[missing] as string,
      attribute: `categoryExtIds[${missing}]`,
    })
  await ctx.store.update(Template, templateExtId, { ...changes, updateTime: ctx.clock.iso(), updatedBy })
  // Both show whether they are active.
  if (changes.activeVersionExtId !== undefined)
    for (const extId of new Set([activeVersionExtId as string, changes.activeVersionExtId]))
      await ctx.store.touch(TemplateVersion, extId)
}

/** Stores the changes together with a version that its task has captured. */
export async function storeVersion(ctx: RecordContext, input: NewVersion): Promise<void> {
  const { templateExtId, versionExtId, isActive, changes } = input
  await presentTemplate(ctx.store, templateExtId)
  await requireVersionRoom(ctx, templateExtId)
  await ctx.store.publish(TemplateVersion, versionExtId)
  await storeUpdate(ctx, {
    ...input,
    changes: { ...changes, ...(isActive ? { activeVersionExtId: versionExtId } : {}) },
  })
}

export const removePendingVersion = (ctx: RecordContext, { versionExtId }: OfVersion): Promise<void> =>
  ctx.store.remove(TemplateVersion, versionExtId)

export const updateTemplate = defineTask<Update>({
  name: 'vmm.update-template',
  steps: [{ name: 'store', record: storeUpdate }],
})

export const addVersion = defineTask<NewVersion>({
  name: 'vmm.add-template-version',
  steps: [...capturingSteps(90), { name: 'store', record: storeVersion }],
  onUndone: removePendingVersion,
})

export const publishTemplate = defineTask<OfVersion & Pick<Update, 'updatedBy'>>({
  name: 'vmm.publish-template',
  steps: [
    {
      name: 'store',
      record: async (ctx, { templateExtId, versionExtId, updatedBy }) => {
        await versionOf(ctx.store, templateExtId, versionExtId)
        await storeUpdate(ctx, { templateExtId, changes: { activeVersionExtId: versionExtId }, updatedBy })
      },
    },
  ],
})

export function requireInactive({ templateName, activeVersionExtId }: TemplateEntity, version: VersionEntity): void {
  if (activeVersionExtId !== version.extId) return
  const fault = `The version "${version.versionName}" is the active one of the template "${templateName}". Publish another version first, or delete the template.`
  throw new ApiError('CONFLICT', { fault })
}

/** @throws ApiError 409 while a guest update is open */
export function requireNoGuestUpdate({ templateName, updatedVmExtId }: TemplateEntity): void {
  if (updatedVmExtId === undefined) return
  const users = `its guest update with the VM ${updatedVmExtId}, which must be completed or cancelled`
  throw new ApiError('VMM_ENTITY_IN_USE', { kind: 'template', name: templateName, users })
}

const freeDisks = <I extends OfTemplate>(
  removed: (store: Reader, input: I) => Promise<readonly VersionEntity[]>,
): Step<I> => ({
  name: 'free disks',
  progress: 90,
  seconds: [0.5, 1],
  // Disks of deployed VMs that are layers over them keep their content.
  run: async (ctx, input) => {
    for (const { copies = [] } of await removed(ctx.store, input))
      for (const { diskExtId } of copies) await ctx.drivers.hypervisor.deleteDisk(diskExtId)
  },
})

export const deleteVersion = defineTask<OfVersion>({
  name: 'vmm.delete-template-version',
  pointOfNoReturn: 'free disks',
  steps: [
    {
      name: 'recheck',
      progress: 5,
      record: async (ctx, { templateExtId, versionExtId }) =>
        requireInactive(
          await presentTemplate(ctx.store, templateExtId),
          await versionOf(ctx.store, templateExtId, versionExtId, 'extId'),
        ),
    },
    freeDisks(async (store, { versionExtId }) => store.getMany(TemplateVersion, [versionExtId])),
    {
      name: 'remove row',
      record: async (ctx, { templateExtId, versionExtId }) => {
        await ctx.store.remove(TemplateVersion, versionExtId)
        await ctx.store.update(Template, templateExtId, { updateTime: ctx.clock.iso() })
      },
    },
  ],
})

export const deleteTemplate = defineTask<OfTemplate>({
  name: 'vmm.delete-template',
  pointOfNoReturn: 'free disks',
  steps: [
    {
      name: 'recheck',
      progress: 5,
      record: async (ctx, { templateExtId }) => requireNoGuestUpdate(await presentTemplate(ctx.store, templateExtId)),
    },
    freeDisks((store, { templateExtId }) => versionsOf(store, templateExtId)),
    {
      name: 'remove rows',
      record: async (ctx, { templateExtId }) => {
        for (const { extId } of await versionsOf(ctx.store, templateExtId))
          await ctx.store.remove(TemplateVersion, extId)
        await ctx.store.remove(Template, templateExtId)
      },
    },
  ],
})
