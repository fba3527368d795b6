import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { created } from '../../../../core/updates.ts'
import type { WriteContext } from '../../../context.ts'
import type { VersionSettings } from './customization.ts'
import type { VersionBody } from './rules.ts'

export const callerAsUser = ({ caller }: Pick<WriteContext, 'caller'>): { extId: string; username: string } => ({
  extId: caller.extId,
  username: caller.name,
})

export async function insertVersion(
  ctx: WriteContext,
  body: VersionBody,
  templateExtId: string,
  extId: string,
  settings: VersionSettings = {},
): Promise<void> {
  const own = { extId, templateExtId, createTime: ctx.clock.iso(), createdBy: callerAsUser(ctx) }
  const derived = {
    ...own,
    versionSource: undefined,
    isActiveVersion: undefined,
    isGcOverrideEnabled: body.isGcOverrideEnabled !== false,
    ...settings,
  }
  await ctx.store.insert(TemplateVersion, created(ctx, TemplateVersion, body, derived), { pending: true })
}
