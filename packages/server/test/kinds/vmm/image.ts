/** Requests by which suites that cover every kind reach images. */

import { Image } from '@hyperplane/contract/vmm/content/image'
import { seedId } from '../../../src/core/ids/named-id.ts'
import { created, requestOf, tagged } from '../../restart/asked.ts'
import * as walk from '../../restart/walks/request-parts.ts'
import { ids } from '../../support/clustermgmt.ts'
import { at, named, updating } from '../../support/field-bases.ts'
import { storedKey } from '../../support/s3-server.ts'
import {
  type Creation,
  type FactOwner,
  type FieldBase,
  nativeCluster,
  type OrderCase,
  type RestartScenario,
  unknown,
} from '../kind.ts'

const images = '/vmm/v4.2/content/images'
/** Images that only the demo's cluster knows. */
const unmanaged = ['golden-2019.qcow2', 'rescue.iso'].map((name) => seedId(`image/${name}`))

export const creations = {
  'vmm.createImage': {
    path: '/vmm/v4.2/content/images',
    body: (name) => ({
      name,
      type: 'DISK_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: `https://images.example.com/${name}.qcow2` },
    }),
  },
} satisfies Record<string, Creation>

export const orderCases: Readonly<Record<string, OrderCase>> = {
  'vmm.createImage': {
    path: '/content/images',
    body: {
      name: 'by-order',
      type: 'DISK_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: 'https://images.example.com/by-order.qcow2' },
      categoryExtIds: [unknown],
    },
    broken: { source: undefined },
  },
  'vmm.updateImageById': {
    path: `/content/images/${seedId('image/ubuntu-24.04.qcow2')}`,
    body: { name: 'by-order', type: 'DISK_IMAGE', categoryExtIds: [unknown] },
    broken: { name: '../by-order' },
  },
}

export const fieldBases: Readonly<Record<string, readonly FieldBase[]>> = {
  'vmm.importImage': [at(`${images}/$actions/import`, { clusterExtId: nativeCluster, imagesExtIds: unmanaged })],
  'vmm.updateImageById': [updating(images, () => creations['vmm.createImage'].body(named()))],
}

export const fieldValues: Readonly<Record<string, readonly unknown[]>> = {
  'vmm.createImage source<ObjectsLiteSource>/key': [storedKey],
  '* url': ['https://images.example.com/other.qcow2'],
}

export const restartScenarios: Readonly<Record<string, RestartScenario>> = {
  'vmm.create-image': async () => requestOf(creations['vmm.createImage']),
  'vmm.delete-image': async (app) =>
    tagged(app, 'DELETE', `${images}/${await created(app, creations['vmm.createImage'], 'gone')}`),
  'vmm.import-images': async () => ({
    method: 'POST',
    path: `${images}/$actions/import`,
    body: { clusterExtId: nativeCluster, imagesExtIds: unmanaged },
  }),
  'vmm.update-image': async (app) => {
    const path = `${images}/${await created(app, creations['vmm.createImage'], 'copied')}`
    const { data } = await app.call('GET', path)
    return tagged(app, 'PUT', path, { ...data, description: 'changed', clusterLocationExtIds: [ids.cloud] })
  },
}

export const factOwners: Readonly<Record<string, FactOwner>> = {
  'content.faults': 'nobody',
  'content.files': async ({ all }) =>
    new Set([
      ...unmanaged.map((extId) => `${extId}/${nativeCluster}`),
      ...(await all(Image)).flatMap(({ extId, clusterLocationExtIds = [] }) =>
        clusterLocationExtIds.map((cluster: string) => `${extId}/${cluster}`),
      ),
    ]),
  'content.urls': 'nobody',
}

export const walkRequests: Readonly<Record<string, walk.Builder>> = {
  createImage: (asking) =>
    walk.post(walk.collections.images, {
      name: walk.name(asking, 'image'),
      type: 'DISK_IMAGE',
      source: {
        $objectType: 'vmm.v4.content.UrlSource',
        url: `https://images.example.com/${asking.draw.below(4)}.qcow2`,
      },
    }),
  renameImage: (asking) =>
    walk.put(asking, asking.model.path(asking.draw, walk.collections.images), { name: walk.name(asking, 'image') }, [
      'type',
    ]),
  deleteImage: walk.removing(walk.collections.images),
}
