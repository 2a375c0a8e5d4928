# One image for web, worker, collector and beat; docker-compose.yml gives each its command.
ARG NODE_IMAGE=node:24-slim
ARG PYTHON_IMAGE=python:3.13-slim

FROM ${NODE_IMAGE} AS front-end
WORKDIR /panel
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --no-progress

FROM ${PYTHON_IMAGE}
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /panel
COPY requirements.txt ./
RUN pip install --require-hashes -r requirements.txt
COPY --from=front-end /panel/node_modules ./node_modules
COPY manage.py LICENSE ./
COPY panel ./panel
COPY storage ./storage
COPY jobs ./jobs
COPY templates ./templates
COPY static ./static
COPY docs ./docs
COPY locale ./locale
RUN useradd --system --uid 10001 tiercel \
    && python manage.py translations \
    && python manage.py collectstatic --no-input --verbosity 0 \
    && rm -rf node_modules
USER tiercel
EXPOSE 8000
