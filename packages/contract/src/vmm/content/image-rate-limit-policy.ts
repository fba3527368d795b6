/** Limits the speed at which content reaches clusters. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.9, 2. */
import { names } from '../../names.ts'
import { create, get, list, remove, resource, update } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { imagePolicyReaders, policyMutationRate } from '../roles.ts'
import { ImagesFilter } from './category-filter.ts'

export const ImageRateLimitPolicy = resource('vmm.v4.images.config.RateLimitPolicy', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 256 }),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    /** Kilobytes (1000 bytes) per second. */
    rateLimitKbps: s.integer({ minimum: 1, maximum: 4_294_967_296 }),
    clusterEntityFilter: ImagesFilter,
    matchingClusterExtIds: s.readOnly(s.arrayOf(s.uuid(), { maxItems: 200 })),
    createTime: s.readOnly(s.timestamp()),
    lastUpdateTime: s.readOnly(s.timestamp()),
    ownerExtId: s.readOnly(s.uuid()),
    ownerName: s.readOnly(s.text()),
  },
  kind: 'ImageRateLimitPolicy',
  iam: { name: 'name', owner_uuid: 'ownerExtId' },
  associationType: 'IMAGE_RATE_LIMIT',
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

export const EffectiveRateLimitPolicy = resource('vmm.v4.images.config.EffectiveRateLimitPolicy', {
  fields: { clusterExtId: s.readOnly(s.uuid()), rateLimitExtId: s.readOnly(s.uuid()) },
  derived: true,
})

const writers: readonly RoleName[] = ['Platform Admin', 'Super Admin']
const view = { iam: 'View_Image_Rate_Limit_Policy', roles: imagePolicyReaders }
const mutation = { roles: writers, rateLimit: policyMutationRate }

const path = '/images/config/rate-limit-policies'
const one = `${path}/{extId}` as const

export const imageRateLimitPolicyOperations = {
  listRateLimitPolicies: list(path, ImageRateLimitPolicy, {
    ...view,
    filter: names('createTime, description, extId, name, rateLimitKbps'),
    orderby: ['description', 'lastUpdateTime', 'name', 'rateLimitKbps'],
  }),
  createRateLimitPolicy: create(path, ImageRateLimitPolicy, { ...mutation, requestId: 'required' }),
  getRateLimitPolicyById: get(one, ImageRateLimitPolicy, view),
  updateRateLimitPolicyById: update(one, ImageRateLimitPolicy, { ...mutation, requestId: 'required' }),
  deleteRateLimitPolicyById: remove(one, ImageRateLimitPolicy, mutation),
  listEffectiveRateLimitPolicies: list('/images/config/effective-rate-limit-policies', EffectiveRateLimitPolicy, {
    ...view,
    filter: ['clusterExtId', 'extId'],
    orderby: ['clusterExtId'],
  }),
}
