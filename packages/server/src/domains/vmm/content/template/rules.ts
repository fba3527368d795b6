/** Rules of bodies alone. Source: behaviour vmm.md 1.10. */
import type { BodyOf, Declared, ValueOf } from '@hyperplane/contract'
import type {
  Template,
  TemplateDeployment,
  TemplateVersion,
  templateOperations,
  VmConfigOverride,
} from '@hyperplane/contract/vmm/content/template'
import type { ApiError } from '../../../../core/api-error.ts'
import type { VmBody } from '../../../virtual-machines/entity.ts'
import { fault, withPathPrefix } from '../../../virtual-machines/fault.ts'
import type { Overrides } from '../../vm/create/derived-vm.ts'
import { overrideFaults } from '../../vm/rules.ts'
import { refuseUnbuilt } from '../../vm/unbuilt.ts'

type Checked<O> = O extends Declared<infer B> ? B : never
export type NewTemplateBody = Checked<typeof templateOperations.createTemplate>
export type TemplateBody = Partial<BodyOf<typeof Template>>
export type VersionBody = BodyOf<typeof TemplateVersion>
export type OverrideBody = ValueOf<typeof VmConfigOverride>
export type DeploymentBody = ValueOf<typeof TemplateDeployment>

export const vmSource = 'vmm.v4.content.TemplateVmReference'

interface SourceBody {
  readonly $objectType?: string
  readonly extId?: string
  readonly versionId?: string
  readonly overrideVmConfig?: OverrideBody
  readonly guestCustomization?: VmBody['guestCustomization']
  readonly guestCustomizationProfile?: { readonly extId?: string }
}

export const sourceIn = ({ versionSource }: VersionBody): SourceBody => (versionSource ?? {}) as SourceBody

const nameFaults = (path: string, name: string | undefined): ApiError[] =>
  name?.includes('../') === true ? [fault(path, 'a name without "../"', name)] : []

/** @throws ApiError 501 naming a field that is not built */
function overridesFaults(operation: string, body: OverrideBody): ApiError[] {
  refuseUnbuilt(operation, body as VmBody)
  const isTwice = body.guestCustomization !== undefined && body.guestCustomizationProfileConfig !== undefined
  const twice = isTwice ? [fault('guestCustomizationProfileConfig', 'nothing beside guestCustomization', 'one')] : []
  return [...twice, ...overrideFaults(body as Overrides)]
}

/** At most one of them says how the guests of the version are customised. */
function customizationFaults(version: VersionBody): ApiError[] {
  const { overrideVmConfig = {}, guestCustomization, guestCustomizationProfile } = sourceIn(version)
  const given = {
    guestCustomizationProfile: version.guestCustomizationProfile,
    'versionSource/guestCustomizationProfile': guestCustomizationProfile,
    'versionSource/guestCustomization': guestCustomization,
    'versionSource/overrideVmConfig/guestCustomization': overrideVmConfig.guestCustomization,
    'versionSource/overrideVmConfig/guestCustomizationProfileConfig': overrideVmConfig.guestCustomizationProfileConfig,
  }
  const [first, second] = Object.entries(given).flatMap(([path, value]) => (value === undefined ? [] : path))
  const isWithoutId = (reference: { readonly extId?: string } | undefined): boolean =>
    reference !== undefined && reference.extId === undefined
  return [
    ...(second === undefined ? [] : [fault(second, `nothing beside ${first}`, 'one')]),
    ...(isWithoutId(version.guestCustomizationProfile) || isWithoutId(guestCustomizationProfile)
      ? [fault(`${first}/extId`, 'the id of a profile', undefined)]
      : []),
  ]
}

function versionFaults(operation: string, version: VersionBody): ApiError[] {
  const { overrideVmConfig, guestCustomization } = sourceIn(version)
  const faults = [...nameFaults('versionName', version.versionName), ...customizationFaults(version)]
  if (version.versionSource === undefined)
    faults.push(fault('versionSource', 'the VM or the version to copy', undefined))
  if (guestCustomization !== undefined)
    faults.push(...withPathPrefix('versionSource', overrideFaults({ guestCustomization })))
  if (overrideVmConfig !== undefined)
    faults.push(...withPathPrefix('versionSource/overrideVmConfig', overridesFaults(operation, overrideVmConfig)))
  return faults
}

export const templateFaults = ({ templateName, templateVersionSpec: version }: NewTemplateBody): ApiError[] => [
  ...nameFaults('templateName', templateName),
  ...withPathPrefix('templateVersionSpec', versionFaults('createTemplate', version)),
]

export function updateFaults({ templateName, templateVersionSpec: version }: TemplateBody): ApiError[] {
  const faults = nameFaults('templateName', templateName)
  if (version === undefined) return faults
  for (const field of ['versionName', 'versionDescription'] as const)
    if (version[field] === undefined)
      faults.push(fault(`templateVersionSpec/${field}`, 'a text: the body adds a version', undefined))
  return [...faults, ...withPathPrefix('templateVersionSpec', versionFaults('updateTemplateById', version))]
}

export function deploymentFaults({ numberOfVms = 1, overrideVmConfigMap = {} }: DeploymentBody): ApiError[] {
  return Object.entries(overrideVmConfigMap).flatMap(([key, overrides]) => {
    const path = `overrideVmConfigMap/${key}`
    const isNumber = /^(?:0|[1-9]\d*)$/.test(key) && Number(key) < numberOfVms
    if (!isNumber) return [fault(path, `a key from "0" to "${numberOfVms - 1}"`, key)]
    return withPathPrefix(path, overridesFaults('deployTemplate', overrides))
  })
}
