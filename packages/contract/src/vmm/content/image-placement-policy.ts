/** Clusters with one category hold images with another. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.9, 2, operation-roles.tsv. */
import { names } from '../../names.ts'
import { action, create, get, list, remove, resource, update } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { imagePolicyReaders, policyMutationRate } from '../roles.ts'
import { ImagesFilter } from './category-filter.ts'

export const ImagePlacementPolicy = resource('vmm.v4.images.config.PlacementPolicy', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 256 }),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    placementType: s.enumeration(['SOFT', 'HARD']),
    imageEntityFilter: ImagesFilter,
    clusterEntityFilter: ImagesFilter,
    enforcementState: s.immutable(s.withDefault(s.enumeration(['ACTIVE', 'SUSPENDED']), 'ACTIVE')),
    createTime: s.readOnly(s.timestamp()),
    lastUpdateTime: s.readOnly(s.timestamp()),
    ownerExtId: s.readOnly(s.uuid()),
    ownerName: s.readOnly(s.text()),
  },
  kind: 'ImagePlacementPolicy',
  iam: { name: 'name', owner_uuid: 'ownerExtId' },
  associationType: 'IMAGE_PLACEMENT_POLICY',
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

export const SuspendPlacementPolicyConfig = s.object('vmm.v4.images.config.SuspendPlacementPolicyConfig', {
  shouldCancelRunningTasks: s.withDefault(s.boolean(), false),
})

const switchers: readonly RoleName[] = names(
  'Platform Admin, Project Manager, Self-Service Admin (deprecated), Super Admin',
)
const editors: readonly RoleName[] = [...switchers, 'Virtual Machine Admin']
const creators: readonly RoleName[] = [...editors, 'Consumer', 'Developer']

const view = { roles: imagePolicyReaders }
const change = { rateLimit: policyMutationRate, ifMatch: 'required', requestId: 'required' } as const

const path = '/images/config/placement-policies'
const one = `${path}/{extId}` as const

export const imagePlacementPolicyOperations = {
  listPlacementPolicies: list(path, ImagePlacementPolicy, {
    ...view,
    filter: names('createTime, description, enforcementState, extId, name'),
    orderby: ['description', 'enforcementState', 'name'],
    select: names(`
      createTime, description, enforcementState, extId, lastUpdateTime, links, name, ownerExtId, placementType, tenantId
    `),
  }),
  createPlacementPolicy: create(path, ImagePlacementPolicy, {
    roles: creators,
    rateLimit: policyMutationRate,
    requestId: 'required',
  }),
  getPlacementPolicyById: get(one, ImagePlacementPolicy, view),
  updatePlacementPolicyById: update(one, ImagePlacementPolicy, { ...change, roles: editors }),
  deletePlacementPolicyById: remove(one, ImagePlacementPolicy, { roles: editors, rateLimit: policyMutationRate }),
  suspendPlacementPolicy: action(`${one}/$actions/suspend`, {
    ...change,
    of: ImagePlacementPolicy,
    roles: switchers,
    body: SuspendPlacementPolicyConfig,
  }),
  resumePlacementPolicy: action(`${one}/$actions/resume`, {
    ...change,
    of: ImagePlacementPolicy,
    roles: switchers,
  }),
}
