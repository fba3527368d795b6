/** Operations on templates, and the active version that they show. Source: behaviour vmm.md 1.0, 1.10, 3.9. */
import type { EntityOf } from '@hyperplane/contract'
import { Template, TemplateVersion, templateOperations } from '@hyperplane/contract/vmm/content/template'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import { created, sparseChanges, withoutNulls } from '../../../../core/updates.ts'
import type { Reader } from '../../../../store/store.ts'
import { type Broken, implement, type ReadContext, type WriteContext } from '../../../context.ts'
import { rowsOf } from '../../../invariants/rule.ts'
import { limit, limitOf } from '../../../limits.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import type { VmEntity } from '../../../virtual-machines/entity.ts'
import { withPathPrefix } from '../../../virtual-machines/fault.ts'
import { derivedFaults } from '../../vm/create/derived-vm.ts'
import type { CaptureSource } from './capture.ts'
import { versionSettings } from './customization.ts'
import { deploy, deployTemplate, makeDeployedVm } from './deploy.ts'
import { cancelUpdate, completeUpdate, guestUpdateTasks, initiateUpdate } from './guest-update.ts'
import { callerAsUser, insertVersion } from './new-version.ts'
import { deploymentFaults, sourceIn, templateFaults, updateFaults, type VersionBody, vmSource } from './rules.ts'
import {
  addVersion,
  createTemplate,
  deleteTemplate,
  maximumVersions,
  publishTemplate,
  requireNoGuestUpdate,
  requireVersionRoom,
  type TemplateEntity,
  templateTask,
  updateTemplate,
} from './template-tasks.ts'
import {
  blueprintOfVersion,
  firstClusterOf,
  shownSpec,
  type VersionEntity,
  versionOf,
  versionsOf,
} from './version-content.ts'

const maximumTemplates = limit('templates', 1000)

export const template = implement(
  templateOperations,
  {
    async createTemplate(ctx, { body }) {
      const found = (await ctx.store.count(Template)) + 1
      const maximum = limitOf(ctx, maximumTemplates)
      if (found > maximum) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: 'Templates', maximum, found })
      const version: VersionBody = body.templateVersionSpec
      const vm = (await ctx.store.get(Vm, sourceIn(version).extId as string)) as VmEntity
      await requireClusterReachable(ctx, vm.cluster?.extId)
      const [extId, versionExtId] = [ctx.ids.uuid(), ctx.ids.uuid()]
      const by = callerAsUser(ctx)
      const now = ctx.clock.iso()
      const template = created(ctx, Template, body, {
        ...{ extId, createTime: now, updateTime: now, createdBy: by, updatedBy: by, activeVersionExtId: versionExtId },
        templateVersionSpec: undefined,
      })
      await ctx.store.insert(Template, template, { pending: true })
      const named = {
        ...version,
        versionName: version.versionName ?? 'Initial Version',
        versionDescription: version.versionDescription ?? `Created from VM: ${vm.name}`,
      }
      await insertVersion(ctx, named, extId, versionExtId, await versionSettings(ctx, version))
      const source: CaptureSource = {
        kind: 'vm',
        extId: vm.extId,
        guestCustomization: sourceIn(version).guestCustomization,
      }
      const options = templateTask('Create', 'Create template', template)
      const task = await ctx.startTask(
        createTemplate,
        { templateExtId: extId, versionExtId, source },
        { ...options, clusterExtIds: [vm.cluster?.extId as string], locks: [extId, vm.extId] },
      )
      return { ...task, created: extId }
    },

    async updateTemplateById(ctx, { body }) {
      const { templateVersionSpec: version, ...plain } = body
      const { extId: templateExtId } = ctx.target
      const changes = withoutNulls(sparseChanges(Template, plain))
      const update = { templateExtId, changes, updatedBy: callerAsUser(ctx) }
      const options = templateTask('Update', 'Update template', ctx.target)
      await ctx.store.touch(Template, templateExtId)
      if (version === undefined) return ctx.startTask(updateTemplate, update, options)
      await requireVersionRoom(ctx, templateExtId)
      const { source, clusterExtId, copied } = await sourceOf(ctx, templateExtId, version)
      const versionExtId = ctx.ids.uuid()
      const settings = await versionSettings(ctx, version, copied)
      await insertVersion(ctx, version, templateExtId, versionExtId, settings)
      const input = { ...update, versionExtId, source, isActive: version.isActiveVersion !== false }
      const locks = [templateExtId, ...(source.kind === 'vm' ? [source.extId] : [])]
      return ctx.startTask(addVersion, input, { ...options, locks, clusterExtIds: [clusterExtId] })
    },

    async deleteTemplateById(ctx) {
      requireNoGuestUpdate(ctx.target)
      const versions = await versionsOf(ctx.store, ctx.target.extId)
      const clusterExtIds = [...new Set(versions.flatMap((version) => version.clusterLocationExtIds ?? []))]
      for (const clusterExtId of clusterExtIds) await requireClusterReachable(ctx, clusterExtId)
      const options = templateTask('Delete', 'Delete template', ctx.target)
      return ctx.startTask(deleteTemplate, { templateExtId: ctx.target.extId }, { ...options, clusterExtIds })
    },

    async publishTemplate(ctx, { body }) {
      const version = await versionOf(ctx.store, ctx.target.extId, body.versionId)
      await ctx.store.touch(Template, ctx.target.extId)
      const input = { templateExtId: ctx.target.extId, versionExtId: version.extId, updatedBy: callerAsUser(ctx) }
      return ctx.startTask(publishTemplate, input, templateTask('Publish', 'Publish template', ctx.target))
    },

    deployTemplate: (ctx, { body }) => deploy(ctx, body),
    initiateGuestUpdate: (ctx, { body }) => initiateUpdate(ctx, body),
    completeGuestUpdate: (ctx, { body }) => completeUpdate(ctx, body),
    cancelGuestUpdate: (ctx) => cancelUpdate(ctx),
  },
  {
    rules: {
      createTemplate: ({ body }) => templateFaults(body),
      updateTemplateById: ({ body }) => updateFaults(body),
      deployTemplate: ({ body }) => deploymentFaults(body),
    },
    tasks: [
      createTemplate,
      updateTemplate,
      addVersion,
      publishTemplate,
      deleteTemplate,
      deployTemplate,
      makeDeployedVm,
      ...guestUpdateTasks,
    ],
    present: [[Template, presentTemplates]],
    limits: [maximumTemplates, maximumVersions],
    invariants: [{ promise: 'Every template has exactly one active version', look: templatesHaveAnActiveVersion }],
  },
)

interface Sourced {
  readonly source: CaptureSource
  readonly clusterExtId: string
  readonly copied?: VersionEntity
}

/** @throws ApiError 404 for a version of another template; 400 for overrides that do not fit it */
async function sourceOf(ctx: WriteContext, templateExtId: string, version: VersionBody): Promise<Sourced> {
  const { $objectType, extId = '', versionId = '', overrideVmConfig = {}, guestCustomization } = sourceIn(version)
  if ($objectType === vmSource) {
    const clusterExtId = (await ctx.store.get(Vm, extId))?.cluster?.extId as string
    await requireClusterReachable(ctx, clusterExtId)
    return { source: { kind: 'vm', extId, guestCustomization }, clusterExtId }
  }
  const path = 'templateVersionSpec/versionSource'
  const copied = await versionOf(ctx.store, templateExtId, versionId, `${path}/versionId`)
  const clusterExtId = firstClusterOf(copied)
  await requireClusterReachable(ctx, clusterExtId)
  const { guestCustomizationProfileConfig: _, ...overrides } = overrideVmConfig
  const faults = derivedFaults(blueprintOfVersion(copied, clusterExtId), overrides)
  refuseAll(withPathPrefix(`${path}/overrideVmConfig`, faults))
  return { source: { kind: 'version', extId: versionId, overrides }, clusterExtId, copied }
}

async function presentTemplates(ctx: ReadContext, templates: readonly TemplateEntity[]): Promise<readonly object[]> {
  const ids = templates.flatMap(({ activeVersionExtId }) => activeVersionExtId ?? [])
  const versions = await ctx.store.getMany(TemplateVersion, ids)
  const active = new Map(versions.map((version) => [version.templateExtId, version]))
  return templates.map((each) => {
    const {
      templateExtId: _,
      copies: _copies,
      guestCustomization: _sealed,
      profileOverride: _override,
      ...shown
    } = active.get(each.extId) ?? {}
    return { ...each, templateVersionSpec: { ...shown, ...shownSpec(shown), isActiveVersion: true } }
  })
}

async function* templatesHaveAnActiveVersion(store: Reader): AsyncGenerator<Broken> {
  for await (const { extId, templateName, activeVersionExtId } of rowsOf(store, Template)) {
    const active: EntityOf<typeof TemplateVersion> | undefined = await store.get(
      TemplateVersion,
      activeVersionExtId ?? '',
    )
    if (active?.templateExtId === extId) continue
    yield { about: [extId], fault: `the template "${templateName}" has no active version` }
  }
}
