/** OpenAPI 3.1. Roles, deployments and rates are in the description of each operation and, for programs, under `x-hyperplane-*`. */
import { ApiResponseMetadata, errorResponseOf } from './envelope.ts'
import type { Namespace, Operation, RateLimit } from './operation.ts'
import { type AnySchema, isRequiredIn, type ObjectSchema } from './schema.ts'
import { uuidPattern } from './shapes.ts'

type Json = { [key: string]: unknown }

export function openApiOf(namespace: Namespace, version: string, server: string): Json {
  const writer = new SchemaWriter(version)
  const paths: { [path: string]: Json } = {}
  for (const operation of namespace.operations) {
    if (!operation.versions.includes(version)) continue
    const path = `/${namespace.name}/${version}${operation.path}`
    paths[path] = { ...paths[path], [operation.method.toLowerCase()]: operationOf(operation, namespace, writer) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `Hyperplane: ${namespace.name}`,
      version: version.slice(1),
      description: `Interface version ${namespace.label}.`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: server }],
    security:
      namespace.conventions === 'alpha'
        ? [{ basicAuthScheme: [] }]
        : [{ basicAuthScheme: [] }, { apiKeyAuthScheme: [] }],
    tags: [...new Set(namespace.operations.map((operation) => operation.stem))].sort().map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        basicAuthScheme: { type: 'http', scheme: 'basic' },
        apiKeyAuthScheme: { type: 'apiKey', in: 'header', name: 'X-SVC-Api-Key' },
      },
      schemas: writer.components,
    },
  }
}

const rateText = ({ per, xsmall, small, large, xlarge }: RateLimit): string =>
  [
    ['xsmall', xsmall],
    ['small', small],
    ['large', large],
    ['xlarge', xlarge],
  ]
    .filter(([, figure]) => figure !== undefined)
    .map(([tier, figure]) => `${tier} ${figure}`)
    .join(', ') + ` a ${per}`

function operationOf(operation: Operation, namespace: Namespace, writer: SchemaWriter): Json {
  const roles = operation.roles === 'everyone' ? ['everyone who is authenticated'] : operation.roles
  const successes: Json = {
    description: operation.status === 202 ? 'Accepted: a task was started.' : 'Done.',
    headers: {
      ...(operation.status === 201 || operation.status === 202 ? { Location: { schema: { type: 'string' } } } : {}),
      ...(operation.verb === 'get' || operation.status === 201 ? { ETag: { schema: { type: 'string' } } } : {}),
    },
    ...(operation.status === 204 ? {} : { content: contentOf(operation, writer) }),
  }
  return {
    operationId: operation.key.slice(operation.namespace.length + 1),
    tags: [operation.stem],
    summary: sentenceOf(operation.id),
    description: [
      `Roles: ${roles.join(', ')}.`,
      `Deployments: ${operation.deployments.join(', ')}.`,
      `Rate: ${rateText(operation.rateLimit)}.`,
      `IAM operation: ${operation.iamOperation}.`,
    ].join(' '),
    ...(operation.deprecated === undefined ? {} : { deprecated: true }),
    parameters: parametersOf(operation, writer),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: operation.bodyRequired,
            content: requestContentOf(operation, operation.body, writer),
          },
        }),
    responses: { [operation.status]: successes, default: refusalOf(namespace, writer) },
    'x-hyperplane-roles': operation.roles,
    'x-hyperplane-deployments': operation.deployments,
    'x-hyperplane-rate-limit': operation.rateLimit,
    'x-hyperplane-iam-operation': operation.iamOperation,
  }
}

const sentenceOf = (id: string): string => {
  const words = id.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const refusalOf = (namespace: Namespace, writer: SchemaWriter): Json => ({
  description: 'Refused: an ErrorResponse in the envelope.',
  content: {
    'application/json': { schema: envelopeOf(writer.schema(errorResponseOf(namespace.name), 'read'), writer) },
  },
})

function requestContentOf({ form }: Operation, body: AnySchema, writer: SchemaWriter): Json {
  if (form === undefined) return { 'application/json': { schema: writer.schema(body, 'write') } }
  const files = [...Object.keys(form.files ?? {}), ...(form.spooled ?? [])]
  return { 'multipart/form-data': { schema: writer.form(body, files) } }
}

function contentOf(operation: Operation, writer: SchemaWriter): Json {
  if (operation.produces !== undefined) {
    const types = [operation.produces, ...(operation.alsoProduces ?? [])]
    return contentOfTypes(types)
  }
  const data = operation.answer === undefined ? {} : writer.schema(operation.answer, 'read')
  return { 'application/json': { schema: envelopeOf(data, writer) }, ...contentOfTypes(operation.alsoProduces ?? []) }
}

const contentOfTypes = (types: readonly string[]): Json =>
  Object.fromEntries(types.map((type) => [type, { schema: fileSchema(type) }]))

function fileSchema(mediaType: string): Json {
  if (mediaType === 'application/octet-stream') return { type: 'string', format: 'binary' }
  return mediaType === 'application/json' ? { type: 'object' } : { type: 'string' }
}

const envelopeOf = (data: Json, writer: SchemaWriter): Json => ({
  type: 'object',
  properties: { metadata: writer.schema(ApiResponseMetadata, 'read'), data },
  additionalProperties: false,
})

function pathParameters(path: string, schemas: Operation['pathSchemas'], writer: SchemaWriter): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: writer.schema(schemas[name as string] ?? { type: 'uuid' }, 'read'),
  }))
}

function parametersOf(operation: Operation, writer: SchemaWriter): Json[] {
  const query = (name: string, schema: Json, description?: string): Json => ({
    name,
    in: 'query',
    schema,
    ...(description === undefined ? {} : { description }),
  })
  const list = (fields: readonly string[] | 'any'): string =>
    fields === 'any' ? 'Any field.' : `Fields: ${fields.join(', ')}.`
  const header = (name: string, required: boolean, schema: Json): Json => ({ name, in: 'header', required, schema })
  const { filter, orderby, select, expand, apply } = operation
  return [
    ...pathParameters(operation.path, operation.pathSchemas, writer),
    ...(operation.paged
      ? [
          query('$page', { type: 'integer', minimum: 0, default: 0 }),
          query('$limit', { type: 'integer', minimum: 1, maximum: operation.maximumItems ?? 100, default: 50 }),
        ]
      : []),
    ...(filter === undefined ? [] : [query('$filter', { type: 'string' }, list(filter))]),
    ...(orderby === undefined ? [] : [query('$orderby', { type: 'string' }, list(orderby))]),
    ...(select === undefined || operation.query['$select'] !== undefined
      ? []
      : [query('$select', { type: 'string' }, list(select))]),
    ...(expand === undefined ? [] : [query('$expand', { type: 'string' }, list(Object.keys(expand)))]),
    ...(apply === undefined ? [] : [query('$apply', { type: 'string' }, list(apply))]),
    ...(operation.dryRun ? [query('$dryrun', { type: 'boolean', default: false })] : []),
    ...Object.entries(operation.query).map(([name, schema]) => ({
      ...query(name, writer.schema(schema, 'read')),
      required: schema.optional !== true || isRequiredIn(schema, writer.version),
    })),
    ...(operation.mutates
      ? [header('SVC-Request-Id', operation.requestId === 'required', { type: 'string', format: 'uuid' })]
      : []),
    ...(operation.mutates && operation.target !== undefined
      ? [header('If-Match', operation.ifMatch === 'required', { type: 'string' })]
      : []),
    ...(operation.clusterId === undefined
      ? []
      : [header('X-Cluster-Id', operation.clusterId === 'required', { type: 'string', format: 'uuid' })]),
  ]
}

/** Named shapes become components, one for reading and one for writing. */
class SchemaWriter {
  readonly components: { [name: string]: Json } = {}
  readonly version: string
  constructor(version: string) {
    this.version = version
  }

  schema(schema: AnySchema, use: 'read' | 'write'): Json {
    switch (schema.type) {
      case 'text':
        return {
          type: 'string',
          ...(schema.minLength === undefined ? {} : { minLength: schema.minLength }),
          ...(schema.maxLength === undefined ? {} : { maxLength: schema.maxLength }),
          ...(schema.pattern === undefined ? {} : { pattern: schema.pattern }),
          ...(schema.secret === true ? { writeOnly: true } : {}),
        }
      case 'uuid':
        return { type: 'string', format: 'uuid', pattern: uuidPattern }
      case 'taskId':
        return { type: 'string' }
      case 'integer':
      case 'number':
        return {
          type: schema.type,
          ...(schema.minimum === undefined ? {} : { minimum: schema.minimum }),
          ...(schema.maximum === undefined ? {} : { maximum: schema.maximum }),
        }
      case 'boolean':
        return { type: 'boolean' }
      case 'timestamp':
        return { type: 'string', format: 'date-time' }
      case 'enumeration':
        return {
          type: 'string',
          enum: schema.values.filter((value) => (schema.valuesSince?.[value] ?? '') <= this.version),
        }
      case 'list':
        return {
          type: 'array',
          items: this.schema(schema.items, use),
          ...(schema.minItems === undefined ? {} : { minItems: schema.minItems }),
          ...(schema.maxItems === undefined ? {} : { maxItems: schema.maxItems }),
          ...(schema.uniqueItems === undefined ? {} : { uniqueItems: true }),
        }
      case 'map':
        return { type: 'object', additionalProperties: this.schema(schema.values, use) }
      case 'anything':
        return {}
      case 'oneOf':
        return { anyOf: schema.alternatives.map((alternative) => this.schema(alternative, use)) }
      case 'object':
        return this.#object(schema, use)
    }
  }

  form(body: AnySchema, files: readonly string[]): Json {
    if (body.type !== 'object') return this.schema(body, 'write')
    const shape = this.#shape(body, 'write')
    const binary = Object.fromEntries(files.map((name) => [name, { type: 'string', format: 'binary' }]))
    return { ...shape, properties: { ...(shape['properties'] as Json), ...binary } }
  }

  #object(schema: ObjectSchema, use: 'read' | 'write'): Json {
    if (schema.objectType === undefined) return this.#shape(schema, use)
    const name = `${schema.objectType}${use === 'write' ? '.input' : ''}`
    if (!(name in this.components)) {
      this.components[name] = {}
      this.components[name] = this.#shape(schema, use)
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  #shape(schema: ObjectSchema, use: 'read' | 'write'): Json {
    const fields = Object.entries(schema.fields).filter(
      ([, field]) =>
        (field.since ?? '') <= this.version && (use === 'read' ? field.secret !== true : field.readOnly !== true),
    )
    const required = use === 'write' ? fields.filter(([, field]) => field.optional !== true).map(([name]) => name) : []
    return {
      type: 'object',
      properties: {
        ...(schema.objectType === undefined ? {} : { $objectType: { type: 'string', const: schema.objectType } }),
        ...Object.fromEntries(fields.map(([name, field]) => [name, this.schema(field, use)])),
      },
      ...(required.length === 0 ? {} : { required }),
    }
  }
}
