/** Customisation profiles, and clones that are made with them. */
import { randomUUID } from 'node:crypto'
import { completed } from '../restart/asked.ts'
import type { TestApp } from './start-app.ts'

export const profiles = '/vmm/v4.2/ahv/config/vm-guest-customization-profiles'
const type = (name: string): string => `vmm.v4.ahv.config.VmGcProfile${name}`
export const of = (name: string, fields: object = {}): object => ({ $objectType: type(name), ...fields })

export const useVmName = { generalSettings: { computerName: of('UseVmName') } }
export const withParameters = (parameters: object = useVmName): object =>
  of('SysprepConfig', { customization: of('SysprepParams', parameters) })
export const answerFile = (unattendXml: string): object =>
  of('SysprepConfig', { customization: of('AnswerFile', { unattendXml }) })

export const profileBody = (config: object = withParameters()) => ({
  name: `profile-${randomUUID().slice(0, 8)}`,
  config,
})

/** @returns its id */
export const aProfile = (app: TestApp, config?: object): Promise<string> =>
  completed(app, 'POST', profiles, { body: profileBody(config) })

/** The part of a clone's body that names the profile. */
export const withProfile = (extId: string, override?: object) => ({
  guestCustomizationProfileConfig: {
    profile: { extId },
    ...(override === undefined
      ? {}
      : { configOverrideSpec: of('SysprepConfigOverrideSpec', { customization: override }) }),
  },
})
export const parameters = (fields: object): object => of('SysprepParamsOverrideSpec', fields)
