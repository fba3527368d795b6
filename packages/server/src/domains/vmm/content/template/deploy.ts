/** deployTemplate: one subtask per VM, four at a time; finished VMs stay after a failure or cancel. Source: vmm.md 1.0, 1.10, 1.16. */
import type { Operation } from '@hyperplane/contract'
import { Cluster } from '@hyperplane/contract/clustermgmt/cluster'
import { Task } from '@hyperplane/contract/platform/task'
import { vmm } from '@hyperplane/contract/vmm'
import { ApiError, refuseAll } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { subtasksOf } from '../../../../core/tasks/runner.ts'
import { CancelAccepted, defineTask, type StepContext, type TaskEnd, type WriteContext } from '../../../context.ts'
import { refuseReadOnly, requireClusterReachable } from '../../../registrations/reachability.ts'
import { fault, withPathPrefix } from '../../../virtual-machines/fault.ts'
import { affectedVm, taskOf as taskOfVm } from '../../vm/admission.ts'
import { isNative } from '../../vm/create/clusters.ts'
import { insertVm, makingVm, type NewVm, planning } from '../../vm/create/create.ts'
import { derive, derivedFaults, type Overrides } from '../../vm/create/derived-vm.ts'
import { deleteUnstored, makeCopies, storeVersionCopies } from './copies.ts'
import { customizationFaults, customizationSettings, withoutProfile } from './customization.ts'
import type { DeploymentBody, OverrideBody } from './rules.ts'
import { type OfVersion, type TemplateEntity, templateTask } from './template-tasks.ts'
import {
  blueprintOfVersion,
  type Copy,
  customizationOf,
  firstClusterOf,
  versionOf,
  withPresentParts,
} from './version-content.ts'

const atOnce = 4
const namedVms = 10
const maximumName = 80

interface Wanted {
  readonly extId: string
  readonly name: string
  readonly overrides: OverrideBody
}

interface Deployment extends OfVersion {
  readonly clusterExtId: string
  /** In the order of their numbers. */
  readonly vms: readonly Wanted[]
}

interface DeployedVm extends NewVm, OfVersion {
  readonly clusterExtId: string
  readonly name: string
  readonly overrides: OverrideBody
}

/** The number stays whole where the name of the template has to be cut. */
export const nameOfVm = (templateName: string, suffix: string): string =>
  `${[...templateName].slice(0, maximumName - suffix.length).join('')}${suffix}`

export async function deploy(ctx: WriteContext<TemplateEntity>, body: DeploymentBody): Promise<TaskStarted> {
  const { extId: templateExtId, templateName, activeVersionExtId } = ctx.target
  const { clusterReference, numberOfVms = 1, overrideVmConfigMap = {} } = body
  const version = await versionOf(ctx.store, templateExtId, body.versionId ?? (activeVersionExtId as string))
  const cluster = await ctx.store.get(Cluster, clusterReference)
  if (cluster === undefined || !isNative(cluster))
    throw fault('clusterReference', 'a cluster of the native hypervisor', cluster?.name ?? clusterReference)
  await requireClusterReachable(ctx, cluster.extId)
  refuseReadOnly(cluster, 'VMs')
  const blueprint = blueprintOfVersion(version, firstClusterOf(version))
  refuseAll(
    Object.entries(overrideVmConfigMap).flatMap(([key, overrides]) => {
      const fields = ['guestCustomization', 'guestCustomizationProfileConfig'] as const
      const given = version.isGcOverrideEnabled === false ? fields.filter((name) => overrides[name] !== undefined) : []
      const refused = given.map((name) => fault(name, 'none: isGcOverrideEnabled of the version is false', 'one'))
      const faults = derivedFaults(blueprint, withoutProfile(overrides))
      return withPathPrefix(`overrideVmConfigMap/${key}`, [...refused, ...faults])
    }),
  )
  const vms = Array.from({ length: numberOfVms }, (_, number): Wanted => {
    const overrides = overrideVmConfigMap[String(number)] ?? {}
    return { extId: ctx.ids.uuid(), name: overrides.name ?? nameOfVm(templateName, `-${number}`), overrides }
  })
  refuseAll(await customizationFaults(ctx, version, vms))
  const input = { templateExtId, versionExtId: version.extId, clusterExtId: cluster.extId, vms }
  const options = templateTask('Deploy', 'Deploy template', ctx.target)
  return ctx.startTask(deployTemplate, input, { ...options, clusterExtIds: [cluster.extId] })
}

interface Outcome {
  readonly extIds: readonly string[]
  readonly failed: readonly { readonly name: string; readonly messages: TaskEnd['errorMessages'] }[]
  readonly isCanceled: boolean
}

export const deployTemplate = defineTask<Deployment>({
  name: 'vmm.deploy-template',
  cancelableUntil: 'make VMs',
  recordsSubtasks: true,
  steps: [
    {
      name: 'copy disks',
      progress: 10,
      seconds: [1, 5],
      run: async (ctx, input) => {
        const version = await versionOf(ctx.store, input.templateExtId, input.versionExtId)
        return makeCopies(ctx, version, input.clusterExtId)
      },
      record: async (ctx, { templateExtId, versionExtId, clusterExtId }, added: readonly Copy[]) =>
        storeVersionCopies(ctx, await versionOf(ctx.store, templateExtId, versionExtId), clusterExtId, added),
      undo: (ctx, { versionExtId, clusterExtId }) => deleteUnstored(ctx, versionExtId, clusterExtId),
    },
    {
      name: 'make VMs',
      progress: 99,
      run: makeVms,
      record: async (ctx, { vms }, { extIds }: Outcome) => {
        const created = new Set(extIds)
        for (const vm of vms) if (created.has(vm.extId)) ctx.affect(affectedVm(vm))
      },
      // A cancelled deployment ends after its last subtask.
      undo: async (ctx) => {
        await ctx.untilEnded([...(await startedTasks(ctx)).values()])
      },
    },
    {
      name: 'report',
      run: async (ctx, { vms }) => {
        const { extIds, failed, isCanceled } = ctx.outputs['make VMs'] as Outcome
        if (failed.length > 0) {
          const createdNames = vms.filter(({ extId }) => extIds.includes(extId)).map(({ name }) => name)
          const stay =
            createdNames.length === 0 ? 'None was made.' : `These were made and stay: ${listed(createdNames)}.`
          const names = listed(failed.map(({ name }) => name))
          const text = `${failed.length} of ${vms.length} VMs could not be deployed: ${names}. ${stay}`
          throw new ApiError('CONFLICT', { fault: text }, { further: failed.flatMap(({ messages }) => messages) })
        }
        if (isCanceled) throw new CancelAccepted()
      },
    },
  ],
})

function listed(names: readonly string[]): string {
  const shown = names.slice(0, namedVms).map((name) => `"${name}"`)
  return names.length > namedVms ? `${shown.join(', ')} and ${names.length - namedVms} more` : shown.join(', ')
}

async function startedTasks(ctx: StepContext): Promise<Map<string, string>> {
  const tasks = await ctx.store.findWhere(Task, { 'parentTask/extId': ctx.taskExtId })
  return new Map(tasks.map(({ extId, entitiesAffected }) => [entitiesAffected?.[0]?.extId as string, extId]))
}

async function makeVms(ctx: StepContext, input: Deployment): Promise<Outcome> {
  const started = await startedTasks(ctx)
  const tasks = started.size === 0 ? await begin(ctx, input) : started
  const ends = new Map<string, TaskEnd>()
  let reported = 10
  await Promise.all(
    [...tasks].map(async ([vmExtId, taskExtId]) => {
      const [end] = await ctx.untilEnded([taskExtId])
      ends.set(vmExtId, end as TaskEnd)
      const reached = 10 + Math.floor((89 * ends.size) / tasks.size)
      if (reached < reported + 5) return
      reported = reached
      await ctx.progress(reached)
    }),
  )
  const endedAs = (status: string): Wanted[] => input.vms.filter(({ extId }) => ends.get(extId)?.status === status)
  return {
    extIds: endedAs('SUCCEEDED').map(({ extId }) => extId),
    failed: endedAs('FAILED').map(({ extId, name }) => ({ name, messages: ends.get(extId)?.errorMessages ?? [] })),
    isCanceled: endedAs('CANCELED').length > 0,
  }
}

/** All subtasks or none. Every fourth one has the same lock, so that four run at a time. */
async function begin(
  ctx: StepContext,
  { vms, templateExtId, versionExtId, clusterExtId }: Deployment,
): Promise<Map<string, string>> {
  const tasks = new Map<string, string>()
  await ctx.checkpoint(10, async ({ startTask }) => {
    for (const [number, { extId, name, overrides }] of vms.entries()) {
      const task = await startTask(
        makeDeployedVm,
        { templateExtId, versionExtId, clusterExtId, vmExtId: extId, name, overrides },
        {
          ...taskOfVm('CreateVm', { extId, name, cluster: { extId: clusterExtId } }),
          locks: [extId, `${ctx.taskExtId}/${number % atOnce}`],
          parent: ctx.taskExtId,
        },
      )
      tasks.set(extId, task.extId)
    }
    return subtasksOf([...tasks.values()])
  })
  return tasks
}

const deploying = vmm.operations.find(({ id }) => id === 'deployTemplate') as Operation

export const makeDeployedVm = makingVm<DeployedVm>('vmm.deploy-vm', {
  cancelableUntil: planning,
  plan: {
    name: planning,
    progress: 2,
    record: async (ctx, { templateExtId, versionExtId, clusterExtId, vmExtId, name, overrides }) => {
      const version = await versionOf(ctx.store, templateExtId, versionExtId)
      const settings = await customizationSettings(ctx, version, { name, overrides })
      const { guestCustomization = overrides.guestCustomization ?? customizationOf(ctx.secrets, version) } =
        settings ?? {}
      for (const text of settings?.warnings ?? []) ctx.warn(text)
      const changes: Overrides = {
        ...withoutProfile(overrides),
        name,
        cluster: { extId: clusterExtId },
        ...(guestCustomization === undefined ? {} : { guestCustomization }),
      }
      const blueprint = await withPresentParts(ctx.store, blueprintOfVersion(version, clusterExtId), changes)
      const { body, ...derived } = derive(blueprint, changes)
      const internal = settings === undefined ? {} : { guestSettings: settings.guestSettings }
      const planningContext = { ...ctx, caller: ctx.owner, operation: deploying }
      return { keep: (await insertVm(planningContext, body, { ...derived, internal }, vmExtId)).copies }
    },
  },
})
