/** Operations on VM guest customisation profiles. Source: behaviour vmm.md 1.0, 1.14, 1.16, 3.9. */
import type { BodyOf, EntityOf } from '@hyperplane/contract'
import { vmm } from '@hyperplane/contract/vmm'
import {
  VmGuestCustomizationProfile as Profile,
  vmGuestCustomizationProfileOperations,
} from '@hyperplane/contract/vmm/vm/guest/vm-guest-customization-profile'
import { isInScope } from '../../../../core/access/scope.ts'
import { ApiError } from '../../../../core/api-error.ts'
import type { TaskStarted } from '../../../../core/handlers.ts'
import { rowWithId } from '../../../../core/standard.ts'
import { created, replaced } from '../../../../core/updates.ts'
import type { Transaction } from '../../../../store/store.ts'
import { defineTask, implement, type ReadContext, type WriteContext } from '../../../context.ts'
import { limit, limitOf } from '../../../limits.ts'
import { fault } from '../../../virtual-machines/fault.ts'
import { nameFaults } from '../rules.ts'
import { answerFileOf, parametersOf, xmlFaults } from './profile-settings.ts'

type ProfileEntity = EntityOf<typeof Profile>
type Body = BodyOf<typeof Profile>

const maximumProfiles = limit('vmGuestCustomizationProfiles', 500)

interface OfProfile {
  readonly extId: string
}
interface Update extends OfProfile {
  readonly body: Body
  readonly version: string
  readonly by: string
}

const createProfile = defineTask<OfProfile>({
  name: 'vmm.create-vm-guest-customization-profile',
  cancelableUntil: 'store',
  steps: [{ name: 'store', record: (ctx, { extId }) => ctx.store.publish(Profile, extId) }],
  onUndone: (ctx, { extId }) => ctx.store.remove(Profile, extId),
})

const updateProfile = defineTask<Update>({
  name: 'vmm.update-vm-guest-customization-profile',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'store',
      record: async (ctx, { extId, body, version, by }) => {
        const stored = await rowWithId(ctx.store, Profile, extId)
        await requireOwnName(ctx.store, extId, body.name)
        const profile = replaced(Profile, stored, body, version)
        await ctx.store.replace(Profile, { ...profile, updatedBy: { extId: by }, updateTime: ctx.clock.iso() })
      },
    },
  ],
})

const deleteProfile = defineTask<OfProfile>({
  name: 'vmm.delete-vm-guest-customization-profile',
  cancelableUntil: 'store',
  steps: [
    {
      name: 'store',
      record: async (ctx, { extId }) => {
        const profile = await ctx.store.get(Profile, extId)
        if (profile === undefined) return
        await requireUnused(ctx.store, profile)
        await ctx.store.remove(Profile, extId)
      },
    },
  ],
})

const taskOf = (verb: 'Create' | 'Update' | 'Delete', { extId, name }: ProfileEntity) => ({
  operation: `${verb}VmGuestCustomizationProfile`,
  description: `${verb} VM guest customization profile`,
  affected: [{ extId, name, rel: Profile.rel }],
})

async function requireOwnName(store: Pick<Transaction, 'find'>, extId: string, name: string): Promise<void> {
  const isTaken = (await store.find(Profile)).some(
    (other) => other.extId !== extId && other.name.toLowerCase() === name.toLowerCase(),
  )
  if (isTaken) throw new ApiError('NAME_IN_USE', { kind: Profile.title, fields: 'name' })
}

/** @throws ApiError 409 naming the kinds whose entities refer to the profile */
async function requireUnused(
  store: Pick<Transaction, 'referrerCounts'>,
  { extId, name }: ProfileEntity,
): Promise<void> {
  const users = [...(await store.referrerCounts(Profile.kind, extId))].filter(([, count]) => count > 0)
  if (users.length === 0) return
  const text = users.map(([kind, count]) => `${count} of kind ${kind}`).join(', ')
  throw new ApiError('VMM_ENTITY_IN_USE', { kind: Profile.title, name, users: text })
}

const bodyFaults = (body: Body): ApiError[] => {
  const path = 'config/customization'
  const file = answerFileOf(body.config)
  if (file === undefined) return nameFaults(body)
  return [...nameFaults(body), ...xmlFaults(file.unattendXml, `${path}/unattendXml`)]
}

const creationFaults = (body: Body): ApiError[] => {
  const domain = parametersOf(body.config)?.workgroupOrDomainInfo
  const path = 'config/customization/workgroupOrDomainInfo/credentials/password'
  const isMissing = domain !== undefined && 'credentials' in domain && domain.credentials.password === undefined
  return [...bodyFaults(body), ...(isMissing ? [fault(path, 'a password', undefined)] : [])]
}

async function create(ctx: WriteContext, body: Body): Promise<TaskStarted> {
  const found = (await ctx.store.count(Profile)) + 1
  const maximum = limitOf(ctx, maximumProfiles)
  if (found > maximum) throw new ApiError('VMM_LIMIT_EXCEEDED', { limit: `${Profile.title}s`, maximum, found })
  const [now, by] = [ctx.clock.iso(), { extId: ctx.caller.extId }]
  const profile = created(ctx, Profile, body, { createTime: now, updateTime: now, createdBy: by, updatedBy: by })
  await ctx.store.insert(Profile, profile, { pending: true })
  const task = await ctx.startTask(createProfile, { extId: profile.extId }, taskOf('Create', profile))
  return { ...task, created: profile.extId }
}

async function update(ctx: WriteContext<ProfileEntity>, body: Body): Promise<TaskStarted> {
  const { extId } = ctx.target
  await requireOwnName(ctx.store, extId, body.name)
  await ctx.store.touch(Profile, extId)
  const input = { extId, body, version: ctx.version, by: ctx.caller.extId }
  return ctx.startTask(updateProfile, input, taskOf('Update', ctx.target))
}

async function remove(ctx: WriteContext<ProfileEntity>): Promise<TaskStarted> {
  await requireUnused(ctx.store, ctx.target)
  await ctx.store.touch(Profile, ctx.target.extId)
  return ctx.startTask(deleteProfile, { extId: ctx.target.extId }, taskOf('Delete', ctx.target))
}

/** Text of answer files is shown to callers who may update the profile: it may hold passwords. */
async function presentProfiles(
  ctx: ReadContext,
  profiles: readonly ProfileEntity[],
): Promise<readonly ProfileEntity[]> {
  const change = vmm.operations.find(({ id }) => id === 'updateVmGuestCustomizationProfileById')
  if (change === undefined) throw new Error('no operation updates profiles')
  const scope = await ctx.services.access.scope(ctx.caller, change)
  return profiles.map((profile) => {
    const file = answerFileOf(profile.config)
    if (file === undefined || isInScope(scope, profile)) return profile
    const { unattendXml: _, ...customization } = file
    return { ...profile, config: { ...profile.config, customization } }
  })
}

export const vmGuestCustomizationProfile = implement(
  vmGuestCustomizationProfileOperations,
  {
    createVmGuestCustomizationProfile: (ctx, { body }) => create(ctx, body),
    updateVmGuestCustomizationProfileById: (ctx, { body }) => update(ctx, body),
    deleteVmGuestCustomizationProfileById: (ctx) => remove(ctx),
  },
  {
    rules: {
      createVmGuestCustomizationProfile: ({ body }) => creationFaults(body),
      updateVmGuestCustomizationProfileById: ({ body }) => bodyFaults(body),
    },
    tasks: [createProfile, updateProfile, deleteProfile],
    present: [[Profile, presentProfiles]],
    limits: [maximumProfiles],
  },
)
