/** Builders for tests of OVAs. */
import { randomUUID } from 'node:crypto'
import type { CallOptions, CallResult, TestApp } from './start-app.ts'
import { succeeded } from './templates.ts'

export const ovas = '/vmm/v4.2/content/ovas'

export const ofVm = (vmExtId: string, diskFileFormat: 'QCOW2' | 'VMDK' = 'VMDK') => ({
  source: { $objectType: 'vmm.v4.content.OvaVmSource', vmExtId, diskFileFormat },
})
export const ofUrl = (url: string, clusterExtId: string, more: object = {}) => ({
  source: { $objectType: 'vmm.v4.content.OvaUrlSource', url, ...more },
  clusterLocationExtIds: [clusterExtId],
})

export const postOva = (app: TestApp, body: object, options: CallOptions = {}): Promise<CallResult> =>
  app.call('POST', ovas, { requestId: randomUUID(), ...options, body: { name: 'exported', ...body } })

/** An OVA that exists. */
export async function anOva(app: TestApp, body: object): Promise<any> {
  const task = await succeeded(app, postOva(app, body))
  return readOva(app, task.entitiesAffected[0].extId)
}

/** The bytes of an OVA from a URL. */
export async function anArchive(app: TestApp, clusterExtId: string): Promise<Buffer> {
  const { extId } = await anOva(app, ofUrl('https://images.example.com/archive.ova', clusterExtId))
  const { bytes } = await downloadOf(app, extId)
  await succeeded(app, deleteOva(app, extId))
  return bytes
}

export const readOva = async (app: TestApp, extId: string): Promise<any> =>
  (await app.call('GET', `${ovas}/${extId}`)).data

export async function downloadOf(app: TestApp, extId: string): Promise<{ answer: any; bytes: Buffer }> {
  const { data } = await app.call('GET', `${ovas}/${extId}/file`)
  const parts: Uint8Array[] = []
  for await (const part of data.content as AsyncIterable<Uint8Array>) parts.push(part)
  return { answer: data, bytes: Buffer.concat(parts) }
}

export const deployOva = (
  app: TestApp,
  extId: string,
  clusterLocationExtId: string,
  overrideVmConfig: object = { nics: [] },
  options: CallOptions = {},
): Promise<CallResult> =>
  app.call('POST', `${ovas}/${extId}/$actions/deploy`, {
    requestId: randomUUID(),
    ...options,
    body: { clusterLocationExtId, overrideVmConfig },
  })

export const deleteOva = (app: TestApp, extId: string): Promise<CallResult> =>
  app.call('DELETE', `${ovas}/${extId}`, { requestId: randomUUID() })

export async function renameOva(app: TestApp, extId: string, body: object): Promise<CallResult> {
  const { etag } = await app.call('GET', `${ovas}/${extId}`)
  return app.call('PUT', `${ovas}/${extId}`, { requestId: randomUUID(), ifMatch: etag as string, body })
}
