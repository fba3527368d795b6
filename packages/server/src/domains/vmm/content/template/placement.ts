/** Disks of templates are copied ahead to clusters chosen by policies, by tasks of the system. Source: behaviour vmm.md 1.10. */
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Task } from '@hyperplane/contract/platform/task'
import { Template, TemplateVersion } from '@hyperplane/contract/vmm/content/template'
import { TemplatePlacementPolicy } from '@hyperplane/contract/vmm/content/template-placement-policy'
import { derivedId } from '../../../../core/ids/named-id.ts'
import { pathOf } from '../../../../core/standard.ts'
import { unfinished } from '../../../../core/tasks/task-row.ts'
import { startingTasks } from '../../../../core/time/schedules.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import { and, anyOf, equals } from '../../../../odata/index.ts'
import { defineTask, type RecordContext, type Schedule, type ScheduleContext, together } from '../../../context.ts'
import { nextRetry, notBeforeOf } from '../placement-retry.ts'
import { clustersOfTemplate, policiesOf } from '../template-placement.ts'
import { deleteUnstored, makeCopies, storeVersionCopies } from './copies.ts'
import { affectedTemplate, type OfTemplate, type TemplateEntity } from './template-tasks.ts'
import { type Copy, firstClusterOf, type VersionEntity, versionsOf } from './version-content.ts'

interface Placing extends OfTemplate {
  readonly clusterExtId: string
  readonly cause: string
}

const operation = 'kVmTemplatePlacementEnforce'
const maximumAtOnce = 16

export const placeTemplate = defineTask<Placing>({
  name: 'vmm.place-template',
  steps: [
    {
      name: 'plan',
      progress: 5,
      // Policies and versions may have changed while the task was queued.
      record: async (ctx, { templateExtId, clusterExtId }): Promise<{ keep: readonly string[] }> => {
        const template = await ctx.store.get(Template, templateExtId)
        const wanted = template === undefined ? [] : await clustersOfTemplate(ctx.store, template.categoryExtIds ?? [])
        if (!wanted.includes(clusterExtId)) return { keep: [] }
        const versions = await versionsOf(ctx.store, templateExtId)
        return {
          keep: versions.filter((version) => lacksCopy(ctx.drivers, version, clusterExtId)).map(({ extId }) => extId),
        }
      },
    },
    {
      name: 'copy disks',
      progress: 90,
      seconds: [1, 5],
      run: async (ctx, { clusterExtId }) => {
        const copies: Record<string, readonly Copy[]> = {}
        for (const version of await ctx.store.getMany(TemplateVersion, plannedIn(ctx.outputs)))
          copies[version.extId] = await makeCopies(ctx, version, clusterExtId)
        return copies
      },
      undo: async (ctx, { clusterExtId }) => {
        for (const versionExtId of plannedIn(ctx.outputs)) await deleteUnstored(ctx, versionExtId, clusterExtId)
      },
    },
    {
      name: 'store',
      record: async (ctx, { templateExtId, clusterExtId }) => {
        const copies = ctx.outputs['copy disks'] as Readonly<Record<string, readonly Copy[]>>
        for (const version of await ctx.store.getMany(TemplateVersion, plannedIn(ctx.outputs)))
          await storeVersionCopies(ctx, version, clusterExtId, copies[version.extId] ?? [])
        await noteRetry(ctx, templateExtId, clusterExtId)
      },
    },
  ],
  onUndone: (ctx, { templateExtId, clusterExtId, cause }) => noteRetry(ctx, templateExtId, clusterExtId, cause),
})

const plannedIn = (outputs: Readonly<Record<string, unknown>>): readonly string[] =>
  (outputs['plan'] as readonly string[] | undefined) ?? []

function lacksCopy({ hardware }: Drivers, version: VersionEntity, clusterExtId: string): boolean {
  const isHere = version.clusterLocationExtIds?.includes(clusterExtId) === true
  return !isHere && hardware.isReachable(clusterExtId) && hardware.isReachable(firstClusterOf(version))
}

/** @param cause of a failure; absent after a success */
async function noteRetry(
  ctx: RecordContext,
  templateExtId: string,
  clusterExtId: string,
  cause?: string,
): Promise<void> {
  const template = await ctx.store.get(Template, templateExtId)
  if (template === undefined) return
  const { placementRetries = [] } = template
  const former = placementRetries.find((retry) => retry.clusterExtId === clusterExtId)
  if (former === undefined && cause === undefined) return
  const next = cause === undefined ? [] : [{ clusterExtId, ...nextRetry(former, cause, ctx.clock) }]
  const retries = [...placementRetries.filter((retry) => retry !== former), ...next]
  await ctx.store.observe(Template, templateExtId, { placementRetries: retries.length === 0 ? undefined : retries })
}

export const enforceTemplatePlacement: Schedule = {
  name: 'vmm.enforce-template-placement',
  everySeconds: 5,
  watch({ drivers, store }, changed) {
    const kinds = [Template, TemplateVersion, TemplatePlacementPolicy, Cluster]
    return together(drivers.hardware.watch(changed), store.watch(kinds, changed))
  },
  async run(ctx) {
    const policies = await ctx.store.find(TemplatePlacementPolicy)
    if (policies.length === 0) return
    const categories = [...new Set(policies.flatMap(({ contentFilter }) => contentFilter.categoryExtIds))]
    const templates = await ctx.store.find(Template, { filter: anyOf(pathOf(Template, 'categoryExtIds'), categories) })
    const running = and(anyOf(pathOf(Task, 'status'), unfinished), equals(pathOf(Task, 'operation'), operation))
    let free = maximumAtOnce - (await ctx.store.count(Task, { filter: running }))
    const due: number[] = []
    for (const template of templates) {
      const isBusy = ctx.runner.queueLength(template.extId) > 0
      for (const { clusterExtId, cause } of await missingCopiesOf(ctx, template)) {
        const retry = template.placementRetries?.find((each) => each.clusterExtId === clusterExtId)
        const notBefore = notBeforeOf(retry, cause) ?? 0
        due.push(Math.max(notBefore, ctx.clock.now() + waitMillis))
        if (isBusy || free <= 0 || notBefore > ctx.clock.now()) continue
        await startPlacing(ctx, template, clusterExtId, cause)
        free--
      }
    }
    if (due.length > 0) return Math.min(...due)
  },
}

const waitMillis = 5000

async function missingCopiesOf(
  ctx: ScheduleContext,
  { extId, categoryExtIds = [] }: TemplateEntity,
): Promise<readonly Pick<Placing, 'clusterExtId' | 'cause'>[]> {
  const wanted = await clustersOfTemplate(ctx.store, categoryExtIds)
  const versions = wanted.length === 0 ? [] : await versionsOf(ctx.store, extId)
  return wanted.flatMap((clusterExtId) => {
    const lacking = versions.filter((version) => lacksCopy(ctx.drivers, version, clusterExtId))
    const ids = lacking.map((version) => version.extId)
    return ids.length === 0 ? [] : [{ clusterExtId, cause: derivedId('placement', clusterExtId, ...ids) }]
  })
}

const startPlacing = (
  ctx: ScheduleContext,
  template: TemplateEntity,
  clusterExtId: string,
  cause: string,
): Promise<void> =>
  startingTasks(ctx, async (store, startTask) => {
    const rel = TemplatePlacementPolicy.rel
    const policies = await policiesOf(store, template.categoryExtIds ?? [])
    await startTask(
      placeTemplate,
      { templateExtId: template.extId, clusterExtId, cause },
      {
        operation,
        description: 'Enforce template placement',
        affected: [affectedTemplate(template), ...policies.map(({ extId, name }) => ({ extId, name, rel }))],
        locks: [template.extId],
        clusterExtIds: [clusterExtId],
        background: true,
      },
    )
  })
