/** Templates are copied ahead to clusters by category. Source: catalogue vmm.json; behaviour vmm.md 1.0, 1.10, 2. */
import { names } from '../../names.ts'
import { create, get, list, remove, resource, update } from '../../operation.ts'
import type { RoleName } from '../../roles.ts'
import * as s from '../../schema.ts'
import { policyMutationRate, policyWriters } from '../roles.ts'
import { TemplatesFilter } from './category-filter.ts'

export const TemplatePlacementPolicy = resource('vmm.v4.config.TemplatePlacementPolicy', {
  fields: {
    name: s.text({ minLength: 1, maxLength: 256 }),
    description: s.optional(s.text({ maxLength: 1000, multiline: true })),
    placementType: s.optional(s.enumeration(['SOFT'])),
    contentFilter: TemplatesFilter,
    clusterFilter: TemplatesFilter,
    phony: s.readOnly(s.text()),
    createTime: s.readOnly(s.timestamp()),
    updateTime: s.readOnly(s.timestamp()),
    createdBy: s.readOnly(s.text()),
    updatedBy: s.readOnly(s.text()),
  },
  iam: { name: 'name', owner_uuid: 'createdBy' },
  associationType: 'TEMPLATE_PLACEMENT_POLICY',
  unique: [{ fields: ['name'], ignoreCase: true, error: 'NAME_IN_USE' }],
})

const readers: readonly RoleName[] = [...policyWriters, 'Platform Viewer', 'Virtual Machine Operator']
const view = { roles: readers }
const mutation = { roles: policyWriters, rateLimit: policyMutationRate }
const shown = names('createTime, description, extId, name, placementType, updateTime')

const path = '/config/template-placement-policies'
const one = `${path}/{extId}` as const

export const templatePlacementPolicyOperations = {
  listTemplatePlacementPolicies: list(path, TemplatePlacementPolicy, {
    ...view,
    filter: shown,
    orderby: shown,
    select: shown,
  }),
  createTemplatePlacementPolicy: create(path, TemplatePlacementPolicy, mutation),
  getTemplatePlacementPolicyById: get(one, TemplatePlacementPolicy, view),
  updateTemplatePlacementPolicyById: update(one, TemplatePlacementPolicy, mutation),
  deleteTemplatePlacementPolicyById: remove(one, TemplatePlacementPolicy, mutation),
}
