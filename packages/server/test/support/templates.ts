/** Builders for tests of templates. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import { MacLease } from '../../src/domains/virtual-machines/mac-lease.ts'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'

export const templates = '/vmm/v4.2/content/templates'

export const fromVm = (extId: string, more: object = {}) => ({
  versionSource: { $objectType: 'vmm.v4.content.TemplateVmReference', extId, ...more },
})
export const fromVersion = (versionId: string, overrideVmConfig: object = {}) => ({
  versionSource: { $objectType: 'vmm.v4.content.TemplateVersionReference', versionId, overrideVmConfig },
})

export const postTemplate = (app: TestApp, body: object): Promise<CallResult> =>
  app.call('POST', templates, { requestId: randomUUID(), body: { templateName: 'golden', ...body } })

/** A template of the VM that exists. */
export async function aTemplate(app: TestApp, vmExtId: string, version: object = {}, more: object = {}): Promise<any> {
  const body = { templateVersionSpec: { ...fromVm(vmExtId), ...version }, ...more }
  const task = await succeeded(app, postTemplate(app, body))
  return readTemplate(app, task.entitiesAffected[0].extId)
}

export const readTemplate = async (app: TestApp, extId: string): Promise<any> =>
  (await app.call('GET', `${templates}/${extId}`)).data

export const putTemplate = async (app: TestApp, extId: string, body: object): Promise<CallResult> =>
  app.call('PUT', `${templates}/${extId}`, {
    requestId: randomUUID(),
    ifMatch: (await app.call('GET', `${templates}/${extId}`)).etag as string,
    body,
  })

export const act = (
  app: TestApp,
  extId: string,
  action: string,
  body?: object,
  options: CallOptions = {},
): Promise<CallResult> =>
  app.call('POST', `${templates}/${extId}/$actions/${action}`, {
    requestId: randomUUID(),
    ...(body === undefined ? {} : { body }),
    ...options,
  })

export const publish = async (app: TestApp, extId: string, versionId: string): Promise<CallResult> =>
  act(
    app,
    extId,
    'publish',
    { versionId },
    {
      ifMatch: (await app.call('GET', `${templates}/${extId}`)).etag as string,
    },
  )

export const remove = (app: TestApp, path: string): Promise<CallResult> =>
  app.call('DELETE', path, { requestId: randomUUID() })

export const versionsOf = async (app: TestApp, extId: string): Promise<any[]> =>
  (await app.call('GET', `${templates}/${extId}/versions`)).data ?? []

/** The task at its end. */
export async function succeeded(app: TestApp, started: Promise<CallResult>): Promise<any> {
  const task = await app.task(await started)
  assert.equal(task.status, 'SUCCEEDED', JSON.stringify(task.errorMessages))
  return task
}

/** A second version from another VM. @returns its id */
export async function addedVersion(app: TestApp, extId: string, vmExtId: string, more: object = {}): Promise<string> {
  const before = new Set((await versionsOf(app, extId)).map((version) => version.extId))
  const templateVersionSpec = { versionName: 'second', versionDescription: 'patched', ...fromVm(vmExtId), ...more }
  await succeeded(app, putTemplate(app, extId, { templateVersionSpec }))
  return (await versionsOf(app, extId)).find((version) => !before.has(version.extId)).extId
}

/** Removes a VM without addresses as if it had never been, while nothing of the API knows. */
export async function vanish(app: TestApp, vmExtId: string): Promise<void> {
  const { disks = [] } = (await app.store.get(Vm, vmExtId))!
  for (const { extId } of disks) await app.drivers.hypervisor.deleteDisk(extId as string)
  await app.drivers.hypervisor.undefineVm(vmExtId)
  await app.store.transaction(async (store) => {
    for (const lease of await store.findWhere(MacLease, { vmExtId })) await store.remove(MacLease, lease.extId)
    await store.remove(Vm, vmExtId)
  })
}
