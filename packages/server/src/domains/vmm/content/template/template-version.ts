/** Operations on the versions of a template. Source: behaviour vmm.md 1.10. */
import { Template, TemplateVersion, templateVersionOperations } from '@hyperplane/contract/vmm/content/template'
import { implement, parentOf, type ReadContext } from '../../../context.ts'
import { requireClusterReachable } from '../../../registrations/reachability.ts'
import { affectedVersion, deleteVersion, requireInactive, templateTask } from './template-tasks.ts'
import { shownSpec, type VersionEntity } from './version-content.ts'

export const templateVersion = implement(
  templateVersionOperations,
  {
    async deleteTemplateVersionById(ctx) {
      const template = parentOf(ctx, 'templateExtId', Template)
      requireInactive(template, ctx.target)
      const { extId: versionExtId, clusterLocationExtIds: clusterExtIds = [] } = ctx.target
      for (const clusterExtId of clusterExtIds) await requireClusterReachable(ctx, clusterExtId)
      const others = [affectedVersion(ctx.target)]
      const options = templateTask('DeleteVersion', 'Delete template version', template, others)
      return ctx.startTask(
        deleteVersion,
        { templateExtId: template.extId, versionExtId },
        { ...options, clusterExtIds },
      )
    },
  },
  { tasks: [deleteVersion], present: [[TemplateVersion, presentVersions]] },
)

async function presentVersions(ctx: ReadContext, versions: readonly VersionEntity[]): Promise<readonly object[]> {
  const ids = new Set(versions.flatMap(({ templateExtId }) => templateExtId ?? []))
  const active = new Set((await ctx.store.getMany(Template, [...ids])).map((each) => each.activeVersionExtId))
  return versions.map((version) => ({ ...version, ...shownSpec(version), isActiveVersion: active.has(version.extId) }))
}
