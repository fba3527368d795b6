/** Requests by which suites that cover every kind reach images. */
import { seedId } from '../../../src/core/ids/named-id.ts'
import { type Creation, type OrderCase, unknown } from '../kind.ts'

export const creations: Readonly<Record<string, Creation>> = {
  'vmm.createImage': {
    path: '/vmm/v4.2/content/images',
    body: (name) => ({
      name,
      type: 'DISK_IMAGE',
      source: { $objectType: 'vmm.v4.content.UrlSource', url: `https://images.example.com/${name}.qcow2` },
    }),
  },
}

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
