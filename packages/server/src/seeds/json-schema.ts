/** The format of seeds as a JSON Schema (2020-12), for editors and validators. Served at /docs/seed.schema.json. */

import type { AnySchema } from '@hyperplane/contract'
import { defined } from '../core/defined.ts'
import { collectDomains } from '../domains/collected.ts'
import { storeTables } from '../domains/tables.ts'
import { mutations } from './acting.ts'
import { SeedFile } from './format.ts'
import { exportedKinds } from './left-out.ts'

type Json = { readonly [name: string]: unknown }

export function seedJsonSchema(): Json {
  const { properties, ...rest } = jsonSchemaOf(SeedFile) as { properties: Record<string, Json> }
  const kinds = exportedKinds(storeTables()).sort()
  const rows = {
    type: 'array',
    items: { type: 'object', required: ['extId'], properties: { extId: { type: 'string' } } },
  }
  const entities = {
    description: properties['entities']?.['description'],
    type: 'object',
    properties: Object.fromEntries(kinds.map((kind) => [kind, rows])),
    additionalProperties: false,
  }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Seed of a Hyperplane world',
    ...rest,
    properties: { ...properties, entities, operations: withOperationKeys(properties['operations'] as Json) },
  }
}

/** Editors complete the keys; a seed may also give an operationId alone. */
function withOperationKeys({ items, ...rest }: Json): Json {
  const { properties, ...item } = items as { readonly properties: Record<string, Json> }
  const { handlers } = collectDomains()
  const keys = [...mutations.keys()].filter((key) => handlers.has(key)).sort()
  const operation = { ...properties['operation'], examples: keys }
  return { ...rest, items: { ...item, properties: { ...properties, operation } } }
}

function jsonSchemaOf(schema: AnySchema): Json {
  const { description } = schema as { description?: string }
  return { ...defined({ description }), ...shapeOf(schema) }
}

function shapeOf(schema: AnySchema): Json {
  switch (schema.type) {
    case 'text':
      return {
        type: 'string',
        ...defined({ minLength: schema.minLength, maxLength: schema.maxLength, pattern: schema.pattern }),
      }
    case 'integer':
    case 'number':
      return {
        type: schema.type,
        ...defined({ minimum: schema.minimum, maximum: schema.maximum }),
      }
    case 'boolean':
      return { type: 'boolean' }
    case 'uuid':
    case 'taskId':
      return { type: 'string', format: 'uuid' }
    case 'timestamp':
      return { type: 'string', format: 'date-time' }
    case 'enumeration':
      return { type: 'string', enum: schema.values }
    case 'list':
      return {
        type: 'array',
        items: jsonSchemaOf(schema.items),
        ...defined({ minItems: schema.minItems, maxItems: schema.maxItems }),
      }
    case 'map':
      return { type: 'object', additionalProperties: jsonSchemaOf(schema.values) }
    case 'oneOf':
      return { anyOf: schema.alternatives.map(jsonSchemaOf) }
    case 'anything':
      return {}
    case 'object': {
      const fields = Object.entries(schema.fields)
      const required = fields.filter(([, field]) => field.optional !== true).map(([name]) => name)
      return {
        type: 'object',
        properties: Object.fromEntries(fields.map(([name, field]) => [name, jsonSchemaOf(field)])),
        ...(required.length === 0 ? {} : { required }),
        additionalProperties: false,
      }
    }
  }
}
