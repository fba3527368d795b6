/** Steps of every task that adds a version to a template. Source: behaviour vmm.md 1.10, 1.16. */

import { TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import type { Reader } from '../../../../store/store.ts'
import { claimsOn } from '../../../block-volumes/attachments.ts'
import type { RecordContext, Step } from '../../../context.ts'
import { requireVm } from '../../vm/admission.ts'
import type { Overrides } from '../../vm/create/derived-vm.ts'
import { requireRoom } from '../../vm/files.ts'
import {
  type Customization,
  customizationOf,
  type Source,
  sourceVersion,
  sourceVm,
  specOf,
  type VersionEntity,
  versionOf,
} from './version-content.ts'

export type CaptureSource =
  | { readonly kind: 'vm'; readonly extId: string; readonly guestCustomization?: Customization | undefined }
  | { readonly kind: 'version'; readonly extId: string; readonly overrides: Overrides }

export interface Capture {
  readonly templateExtId: string
  readonly versionExtId: string
  readonly source: CaptureSource
}

/** @param copied progress in percent when the disks are copied */
export const capturingSteps = (copied: number): readonly Step<Capture>[] => [
  {
    name: 'snapshot source',
    progress: 20,
    record: async (ctx, input): Promise<{ keep: Readonly<Record<string, string>> }> => {
      const { source, guestCustomization } = await readSource(ctx, input)
      const { spec, clusterExtId, files } = source
      const newIds = new Map([...files.keys()].map((fileExtId) => [fileExtId, ctx.ids.uuid()]))
      const copies = [...files].map(([fileExtId, file]) => {
        const extId = newIds.get(fileExtId) as string
        const { containerExtId, sizeBytes, writtenBytes } = file
        return { fileExtId: extId, diskExtId: extId, clusterExtId, containerExtId, sizeBytes, writtenBytes }
      })
      await ctx.store.observe(TemplateVersion, input.versionExtId, {
        vmSpec: specOf(spec, newIds, () => ctx.ids.uuid()),
        clusterLocationExtIds: [clusterExtId],
        ...(copies.length === 0 ? {} : { copies }),
        ...(guestCustomization === undefined ? {} : { guestCustomization }),
      })
      return { keep: Object.fromEntries([...files].map(([id, { diskExtId }]) => [newIds.get(id), diskExtId])) }
    },
    // No unrecord: `onUndone` removes the pending row.
  },
  {
    name: 'copy disks',
    progress: copied,
    seconds: [0.4, 1],
    run: async (ctx, { versionExtId }) => {
      const copies = await copiesOf(ctx.store, versionExtId)
      const sources = ctx.outputs['snapshot source'] as Readonly<Record<string, string>>
      await requireRoom(
        ctx,
        copies.map(({ containerExtId, sizeBytes }) => ({
          storageContainer: { extId: containerExtId },
          diskSizeBytes: sizeBytes,
        })),
      )
      for (const { diskExtId, containerExtId, sizeBytes } of copies) {
        const source = { kind: 'disk', extId: sources[diskExtId] as string } as const
        await ctx.drivers.hypervisor.createDisk({
          extId: diskExtId,
          containerExtId,
          sizeBytes,
          source,
          isReadOnly: true,
        })
      }
    },
    undo: async (ctx, { versionExtId }) => {
      for (const { diskExtId } of await copiesOf(ctx.store, versionExtId))
        await ctx.drivers.hypervisor.deleteDisk(diskExtId)
    },
  },
]

const copiesOf = async (store: Reader, versionExtId: string): Promise<NonNullable<VersionEntity['copies']>> =>
  (await store.pending(TemplateVersion, versionExtId))?.copies ?? []

async function readSource(
  ctx: RecordContext,
  { templateExtId, versionExtId, source }: Capture,
): Promise<{ readonly source: Source; readonly guestCustomization: Customization | undefined }> {
  if (source.kind === 'vm') {
    const vm = await requireVm(ctx.store, source.extId)
    if ((await claimsOn(ctx.store, 'Vm', vm.extId)).length > 0)
      ctx.warn(`The volume groups of VM ${vm.name} are not part of the template.`)
    return { source: sourceVm(vm, ctx.clock.now()), guestCustomization: source.guestCustomization }
  }
  const version = await versionOf(ctx.store, templateExtId, source.extId)
  const hasProfile = (await ctx.store.pending(TemplateVersion, versionExtId))?.guestCustomizationProfile !== undefined
  const inherited = hasProfile ? undefined : customizationOf(ctx.secrets, version)
  const { guestCustomization = inherited } = source.overrides
  return { source: sourceVersion(version, source.overrides), guestCustomization }
}
