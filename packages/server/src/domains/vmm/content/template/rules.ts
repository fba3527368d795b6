/** Rules of bodies alone. Source: behaviour vmm.md 1.10. */
import type { BodyOf, Declared, ValueOf } from '@hyperplane/contract'
import type {
  Template,
  TemplateDeployment,
  TemplateVersion,
  templateOperations,
  VmConfigOverride,
} from '@hyperplane/contract/vmm/content/template'
import { ApiError } from '../../../../core/api-error.ts'
import type { VmBody } from '../../../virtual-machines/entity.ts'
import { fault, under } from '../../../virtual-machines/fault.ts'
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

/** A source as the contract has checked it. */
interface SourceBody {
  readonly $objectType?: string
  readonly extId?: string
  readonly versionId?: string
  readonly overrideVmConfig?: OverrideBody
  readonly guestCustomization?: VmBody['guestCustomization']
  readonly guestCustomizationProfile?: unknown
}

export const sourceIn = ({ versionSource }: VersionBody): SourceBody => (versionSource ?? {}) as SourceBody

const nameFaults = (path: string, name: string | undefined): ApiError[] =>
  name?.includes('../') === true ? [fault(path, 'a name without "../"', name)] : []

const profiles = (operation: string): never => {
  throw new ApiError('NOT_IMPLEMENTED', { operation: `${operation} with a guest customisation profile` })
}

/** @throws ApiError 501 naming a field that is not built */
function overridesFaults(operation: string, body: OverrideBody): ApiError[] {
  if (body.guestCustomizationProfileConfig !== undefined) profiles(operation)
  refuseUnbuilt(operation, body as VmBody)
  return overrideFaults(body as Overrides)
}

function versionFaults(operation: string, version: VersionBody): ApiError[] {
  const { overrideVmConfig, guestCustomization, guestCustomizationProfile } = sourceIn(version)
  if (version.guestCustomizationProfile !== undefined || guestCustomizationProfile !== undefined) profiles(operation)
  const faults = nameFaults('versionName', version.versionName)
  if (version.versionSource === undefined)
    faults.push(fault('versionSource', 'the VM or the version to copy', undefined))
  if (guestCustomization !== undefined) faults.push(...under('versionSource', overrideFaults({ guestCustomization })))
  if (overrideVmConfig !== undefined)
    faults.push(...under('versionSource/overrideVmConfig', overridesFaults(operation, overrideVmConfig)))
  return faults
}

export const creationFaults = ({ templateName, templateVersionSpec: version }: NewTemplateBody): ApiError[] => [
  ...nameFaults('templateName', templateName),
  ...under('templateVersionSpec', versionFaults('createTemplate', version)),
]

export function updateFaults({ templateName, templateVersionSpec: version }: TemplateBody): ApiError[] {
  const faults = nameFaults('templateName', templateName)
  if (version === undefined) return faults
  for (const field of ['versionName', 'versionDescription'] as const)
    if (version[field] === undefined)
      faults.push(fault(`templateVersionSpec/${field}`, 'a text: the body adds a version', undefined))
  return [...faults, ...under('templateVersionSpec', versionFaults('updateTemplateById', version))]
}

export function deploymentFaults({ numberOfVms = 1, overrideVmConfigMap = {} }: DeploymentBody): ApiError[] {
  return Object.entries(overrideVmConfigMap).flatMap(([key, overrides]) => {
    const path = `overrideVmConfigMap/${key}`
    const isNumber = /^(?:0|[1-9]\d*)$/.test(key) && Number(key) < numberOfVms
    if (!isNumber) return [fault(path, `a key from "0" to "${numberOfVms - 1}"`, key)]
    return under(path, overridesFaults('deployTemplate', overrides))
  })
}
